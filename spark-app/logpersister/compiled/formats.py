"""Formats of the objects of a topic, by their partition paths: of each type, and of quarantine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from logpersister.formats.base import Encoder, Format, ObjectIdentity
from logpersister.formats.columnar_settings import KAFKA_COLUMNS
from logpersister.formats.parquet.settings import ParquetSpec
from logpersister.formats.parquet.write import ParquetFormat
from logpersister.formats.registry import make_format
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import own_path
from logpersister.records.type_names import Names, names_of

NO_TABLES: Final[Mapping[str, Mapping[str, int]]] = {}
_ALL_OF_A_RECORD: Final = ParquetSpec(kafka_columns=KAFKA_COLUMNS)


@dataclass(frozen=True, slots=True)
class TopicFormats:
    """Formats of the objects of a topic. Picklable."""

    names: Names
    of_rules: Sequence[Format]
    """Formats by rule of ``spec.types``; without types one of all records."""
    quarantine: Format | None = None
    """None: refused records stand in files like those of all others."""
    in_tables: Mapping[str, Format] = field(default_factory=dict)
    """Formats of types whose table knows the columns by numbers of its own, by the folder of the type."""

    def at(self, path: str) -> Format:
        """Return the format of the objects of a partition path."""
        rule = self.names.rule_at(path)
        if rule is None:
            return self.quarantine or self.of_rules[0]
        return self.in_tables.get(own_path(path).partition("/")[0]) or self.of_rules[rule]

    def encoder(self, identity: ObjectIdentity) -> Encoder:
        return self.at(identity.path).encoder(identity)

    @property
    def wants_headers(self) -> bool:
        """Whether any of them stores headers."""
        return any(one.wants_headers for one in self._all)

    @property
    def held_back(self) -> int:
        return max(one.held_back for one in self._all)

    @property
    def _all(self) -> Sequence[Format]:
        return self.of_rules if self.quarantine is None else (*self.of_rules, self.quarantine)


def formats_of(
    spec: Spec,
    field_ids: Mapping[str, int] | None = None,
    of_types: Mapping[str, Mapping[str, int]] = NO_TABLES,
) -> TopicFormats:
    """Return the formats of a spec, its overrides aside.

    Args:
        spec: of a topic.
        field_ids: by which its table knows the columns; None: it has none.
        of_types: the same of types with tables, by the values of their folders.
    """
    names, specs = names_of(spec.types), spec.of_types()
    made = [make_format(one.output, one.parser, one.row_schema, field_ids) for one in specs]
    in_tables: dict[str, Format] = {}
    for name, ids in of_types.items():
        folder = names.folder_of(name)
        rule = names.rule_at(folder)
        if rule is not None:
            one = specs[rule]
            in_tables[folder] = make_format(one.output, one.parser, one.row_schema, ids)
    return TopicFormats(names, made, quarantine_of(spec), in_tables)


def quarantine_of(spec: Spec) -> Format | None:
    """Return the format of quarantine where it is not that of all other records."""
    if not spec.keeps_all_in_quarantine:
        return None
    return ParquetFormat(_ALL_OF_A_RECORD, refuses_tombstones=spec.refuses_tombstones)
