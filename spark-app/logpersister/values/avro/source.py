"""Schemas of Avro in the manifest: what declares columns, and what has written values."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.avro.columns import columns_of
from logpersister.values.declared_columns import Source
from logpersister.values.parser import Framing


@dataclass(frozen=True)
class AvroSource(Source):
    """An Avro schema, and those of values that name none in a registry."""

    at: ClassVar[str] = "schema"

    text: str | None = None
    """The schema of the columns. With framing `plain` and `singleObject` it wrote the values, too."""
    writers: tuple[str, ...] = ()
    """Schemas of values: with framing `singleObject` besides `text`, with `plain` one in its place."""

    @property
    def has_text(self) -> bool:
        return self.text is not None

    def columns(self) -> Sequence[WrittenColumn]:
        return columns_of(self.text or "", as_reader=True)

    def written_by(self, framing: Framing) -> tuple[str, ...]:
        own = () if self.text is None else (self.text,)
        if framing == "plain":
            return self.writers or own
        return tuple(dict.fromkeys((*own, *self.writers))) if framing == "singleObject" else ()
