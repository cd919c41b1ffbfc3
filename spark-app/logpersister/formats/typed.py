"""Formats of topics whose types have one each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logpersister.formats.base import Encoder, Format, ObjectIdentity
from logpersister.records.escaping import own_path
from logpersister.records.type_names import TypeNames


@dataclass(frozen=True, slots=True)
class TypedFormat:
    """`formats.base.Format` that has one for each rule of ``spec.types`` in it, and one for quarantine.

    What it says of itself is true of quarantine; see `at`.
    """

    names: TypeNames
    formats: Sequence[Format]
    quarantine: Format
    in_tables: Mapping[str, Format] = field(default_factory=dict)
    """Formats of types whose table knows the columns by numbers of its own, by the folder of the type."""

    @property
    def extension(self) -> str:
        return self.quarantine.extension

    @property
    def content_type(self) -> str:
        return self.quarantine.content_type

    @property
    def wants_headers(self) -> bool:
        return True  # quarantine has them, and types may be in them

    @property
    def held_back(self) -> int:
        return max(one.held_back for one in (*self.formats, self.quarantine))

    def encoder(self, identity: ObjectIdentity) -> Encoder:
        return self.at(identity.path).encoder(identity)

    def at(self, path: str) -> Format:
        """Return the format of the objects of a path."""
        in_table = self.in_tables.get(own_path(path).partition("/")[0])
        if in_table is not None:
            return in_table
        rule = self.names.rule_at(path)
        return self.quarantine if rule is None else self.formats[rule]
