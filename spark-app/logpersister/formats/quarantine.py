"""A format of its own for quarantine, beside that of all other records."""

from dataclasses import dataclass

from logpersister.formats.base import Encoder, Format, ObjectIdentity
from logpersister.formats.typed import TypedFormat
from logpersister.records.escaping import QUARANTINE


@dataclass(frozen=True, slots=True)
class WithQuarantine:
    """`formats.base.Format` that has another one in it, for one path. What it says of itself is true of all others."""

    output: Format
    quarantine: Format

    @property
    def extension(self) -> str:
        return self.output.extension

    @property
    def content_type(self) -> str:
        return self.output.content_type

    @property
    def wants_headers(self) -> bool:
        return self.output.wants_headers or self.quarantine.wants_headers

    @property
    def held_back(self) -> int:
        return max(self.output.held_back, self.quarantine.held_back)

    def encoder(self, identity: ObjectIdentity) -> Encoder:
        return format_at(self, identity.path).encoder(identity)


def format_at(file_format: Format, path: str) -> Format:
    """Return the format of the objects of a partition path."""
    if isinstance(file_format, TypedFormat):
        return file_format.at(path)
    if not isinstance(file_format, WithQuarantine):
        return file_format
    return file_format.quarantine if path == QUARANTINE else file_format.output
