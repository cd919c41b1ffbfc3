"""Rows with a column of the key made once more, record by record in plain Python."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from logpersister.manifest.key_schema import KeySpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.writers import Writers
from tests.judges.json_values import Reading
from tests.judges.oracles import oracle_of
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row
from tests.judges.text_values import text_value


@dataclass(frozen=True)
class KeyedOracle(Oracle):
    """Makes rows of values by another one, and the last column of keys."""

    schema: SchemaSpec
    inner: Oracle
    column: str
    read: Callable[[bytes], Any]
    """Returns what a key becomes. Raises `RefusalError`."""

    def row(self, value: bytes) -> Row:
        raise NotImplementedError("a value is not all of it")

    def row_of_record(self, key: bytes | None, value: bytes | None) -> Row:
        row = self.inner.row_of_record(None, value) or dict.fromkeys(one.name for one in self.schema.of_values)
        try:
            return {**row, self.column: None if key is None else self.read(key)}
        except RefusalError as error:
            raise error.below(self.column) from None


def keyed(values: Oracle, schema: SchemaSpec, writers: Writers | None) -> Oracle:
    """Return an oracle that also has the column of the key, if the schema declares one."""
    key, of_key = schema.key, schema.of_key
    if key is None or of_key is None:
        return values
    if key.parser == "text":
        return KeyedOracle(schema, values, key.column, _Text(key))
    return KeyedOracle(schema, values, key.column, oracle_of(key.as_values, of_key, writers).row)


@dataclass(frozen=True, slots=True)
class _Text:
    """Makes a value of a text."""

    key: KeySpec

    def __call__(self, key: bytes) -> Any:
        try:
            text = key.decode()
        except UnicodeDecodeError:
            raise RefusalError("not_utf8") from None
        return text_value(text, self.key.parsed, Reading(self.key.format or "rfc3339"))
