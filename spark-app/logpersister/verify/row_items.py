"""What records become in files of columns, Parquet and JSON lines alike; docs/formats.md says what they should."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from logpersister.manifest.types import Type
from logpersister.ranges import Offset, TopicPartition
from logpersister.verify.json_text import NotJsonError, tree_of
from logpersister.verify.refusal import RefusalError
from logpersister.verify.rows import Oracle

REASON_AND_FIELD: Final = ("reason", "field")
_ALWAYS_IN_QUARANTINE: Final = ("topic", "partition", "offset", "timestamp", "key")
_NO_VALUE: Final = "no such value"
"""What no column holds."""

Item = tuple[Any, ...]
"""Columns of the value, then those of Kafka's own fields. Times are integers, as `verify.rows` has them. Reasons of
quarantine are for people, and not compared."""


@dataclass(frozen=True)
class RowItems:
    """The items of one object."""

    partition: TopicPartition
    in_quarantine: bool
    kafka_columns: Sequence[str]
    skips_tombstones: bool
    oracle: Oracle | None
    """Makes rows of values; None: they are stored as they are, as in quarantine."""
    values_are_json: bool = False
    """Whether a value that is stored as it is may have lost white space."""

    @property
    def of_value(self) -> tuple[str, ...]:
        """Names of the columns that the value becomes."""
        return ("value",) if self.oracle is None else tuple(field.name for field in self.oracle.schema.columns)

    @property
    def types(self) -> dict[str, Type]:
        """Types of these columns by name; empty where the value is stored as it is."""
        return {} if self.oracle is None else {field.name: field.type for field in self.oracle.schema.columns}

    @property
    def of_kafka(self) -> tuple[str, ...]:
        """Kafka's own fields that are columns."""
        if not self.in_quarantine:
            return tuple(self.kafka_columns)
        others = (name for name in self.kafka_columns if name not in _ALWAYS_IN_QUARANTINE)
        return (*_ALWAYS_IN_QUARANTINE, *others)

    @property
    def told(self) -> tuple[str, ...]:
        """Columns that are not compared."""
        return REASON_AND_FIELD if self.in_quarantine else ()

    @property
    def columns(self) -> list[str]:
        """All columns of the file."""
        return [*self.of_value, *self.told, *(f"kafka_{name}" for name in self.of_kafka)]

    def expectation(self) -> Callable[[pa.RecordBatch], list[Item]]:
        """Return a function that gives the items of consecutive records."""

        def expected(batch: pa.RecordBatch) -> list[Item]:
            value = batch.column("value")
            kept = batch.filter(value.is_valid()) if value.null_count and self.skips_tombstones else batch
            records = zip(kept.column("key").to_pylist(), kept.column("value").to_pylist(), strict=True)
            values = [self._columns_of(key, value) for key, value in records]
            others = [self._kafka_column(kept, name) for name in self.of_kafka]
            return [(*one, *more) for one, *more in zip(values, *others, strict=True)]

        return expected

    def values(self, items: Sequence[Item]) -> list[bytes] | None:
        """Return the values of items; None where they are not kept as they were."""
        return None if self.oracle is not None or self.values_are_json else [item[0] or b"" for item in items]

    def offsets(self, items: Sequence[Item]) -> list[Offset] | None:
        """Return the offsets of items; None where they are not kept."""
        if "offset" not in self.of_kafka:
            return None
        place = len(self.of_value) + self.of_kafka.index("offset")
        return [item[place] for item in items]

    def _columns_of(self, key: bytes | None, value: bytes | None) -> Item:
        if self.oracle is None:
            return (_compact(value) if self.values_are_json and value is not None else value,)
        try:
            row = self.oracle.row_of_record(key, value)
        except RefusalError as error:
            return (_NO_VALUE, error.reason)
        return (None,) * len(self.of_value) if row is None else tuple(row.values())

    def _kafka_column(self, batch: pa.RecordBatch, name: str) -> list[Any]:
        if name == "topic":
            return [self.partition.topic] * batch.num_rows
        if name == "partition":
            return [self.partition.partition] * batch.num_rows
        found: list[Any] = batch.column(name).to_pylist()
        return [None if one == -1 else one for one in found] if name == "timestamp" else found


def _compact(value: bytes) -> str:
    """Return a JSON document without white space outside of strings."""
    try:
        return tree_of(value.decode()).text
    except (NotJsonError, UnicodeDecodeError):
        return _NO_VALUE
