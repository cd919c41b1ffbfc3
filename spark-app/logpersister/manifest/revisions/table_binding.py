"""Binding of a revision to the table of its topic: the numbers by which the table knows the columns of files. Pure.

It is part of a revision's document, so a range that is executed again has the same bytes, and its receipt says of which
table it is (docs/design/tables.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from pydantic import ConfigDict, TypeAdapter
from pydantic.alias_generators import to_camel

from logpersister.manifest.revisions.revision import Revision, revision_of_document

_KEY: Final = "table"
_OF_TYPES: Final = "tables"


@dataclass(frozen=True, slots=True)
class TableBinding:
    """A table as it was when a revision began to write files for it."""

    __pydantic_config__: ClassVar = ConfigDict(alias_generator=to_camel)

    table: str
    """Namespace and name, with dots between them."""
    uuid: str
    """Empty: files say nothing of their table (Hive)."""
    schema_id: int
    spec_id: int
    """Id of the table's default partition spec."""
    partition: tuple[str, ...]
    """Columns that it is partitioned by: those that the levels of folders name, in their order."""
    field_ids: Mapping[str, int]
    """Numbers by the path of a column as Iceberg writes it: ``geo.country``, ``tags.element``, ``counts.value``."""

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = _ADAPTER.dump_python(self, mode="json", by_alias=True)
        return found


_ADAPTER: Final = TypeAdapter(TableBinding)


def parse_binding(document: Mapping[str, Any]) -> TableBinding:
    """Return the binding of a document. Raises ValueError for one that is none."""
    return _ADAPTER.validate_python(document)


def with_table(document: Mapping[str, Any], binding: TableBinding) -> Revision:
    """Return the revision of a document whose ranges become files of a table; the same where files do not say so."""
    if not binding.uuid:
        return revision_of_document(document)
    return revision_of_document({**document, _KEY: binding.document()})


def table_of(document: Mapping[str, Any]) -> TableBinding | None:
    """Return what `with_table` has put into a document, if it has."""
    found = document.get(_KEY)
    return None if found is None else parse_binding(found)


def with_tables(document: Mapping[str, Any], bindings: Mapping[str, TableBinding]) -> Revision:
    """Return the revision of a document whose types have tables; the others of it have none."""
    return revision_of_document({**document, _OF_TYPES: {name: one.document() for name, one in bindings.items()}})


def tables_of(document: Mapping[str, Any]) -> Mapping[str, TableBinding]:
    """Return by type, by the value of its folder, what `with_tables` has put into a document."""
    return {name: parse_binding(one) for name, one in document.get(_OF_TYPES, {}).items()}
