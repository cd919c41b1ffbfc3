"""Fields that have other names in columns, named once more in plain Python."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from logpersister.manifest.row_schema import SchemaSpec
from tests.judges.rows import Oracle, Row

_Names = Mapping[tuple[str, ...], str]
"""New names by the names that lead to a field."""


@dataclass(frozen=True)
class RenamingOracle(Oracle):
    """Rows of another one, with the names of a schema."""

    schema: SchemaSpec
    inner: Oracle

    def row(self, value: bytes) -> Row:
        return self._renamed(self.inner.row(value))

    def row_of_record(self, key: bytes | None, value: bytes | None) -> Row | None:
        found = self.inner.row_of_record(key, value)
        return None if found is None else self._renamed(found)

    def _renamed(self, row: Row) -> Row:
        return _renamed(row, (), self._names)

    @cached_property
    def _names(self) -> _Names:
        return self.schema.renames


def renaming(oracle: Oracle, schema: SchemaSpec) -> Oracle:
    """Return an oracle whose rows have the names that a schema asks for."""
    return RenamingOracle(schema, oracle) if schema.rename else oracle


def _renamed(row: Row, around: tuple[str, ...], names: _Names) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row.items():
        path = (*around, name)
        found[names.get(path, name)] = _renamed(value, path, names) if isinstance(value, Mapping) else value
    return found
