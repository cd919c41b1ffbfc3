"""Conditions of ``spec.keep`` judged once more, record by record in plain Python; docs/filters.md says what they mean.

No code that judges them for members is in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from logpersister.manifest.keep import Condition, field_conditions, header_conditions, named_columns
from logpersister.manifest.linear_pattern import Patterns
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Decimal, Plain, Type
from tests.judges.json_values import Reading, column_value, number_value
from tests.judges.refusal import LeftOutError
from tests.judges.rows import Oracle, Row

_AS_WRITTEN: Final = (Plain("string"), Plain("bool"))
_FLOATS: Final = (Plain("float32"), Plain("float64"))


@dataclass(frozen=True, slots=True)
class Question:
    """A condition, with its operands as rows have values."""

    condition: Condition
    one_of: Sequence[Any] | None = None
    none_of: Sequence[Any] | None = None
    at_least: Any = None
    at_most: Any = None
    below: Any = None
    _pattern: Patterns | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, condition: Condition, read: Callable[[Any], Any]) -> Self:
        """Take a condition; `read` makes of a value of the manifest what rows have."""

        def several(values: Sequence[Any] | None) -> Sequence[Any] | None:
            return None if values is None else [read(value) for value in values]

        def single(value: Any) -> Any:
            return None if value is None else read(value)

        return cls(
            condition,
            several(condition.one_of),
            several(condition.not_in),
            single(condition.at_least),
            single(condition.at_most),
            single(condition.below),
            None if condition.matches is None else Patterns.of([condition.matches]),
        )

    def holds(self, value: Any) -> bool:
        """Return whether it holds for a value; None: there is none."""
        if self.condition.absent is not None:
            return (value is None) == self.condition.absent
        if value is None:
            return self.condition.or_absent
        return (
            (self.one_of is None or value in self.one_of)
            and (self.none_of is None or value not in self.none_of)
            and (self.at_least is None or value >= self.at_least)
            and (self.at_most is None or value <= self.at_most)
            and (self.below is None or value < self.below)
            and (self._pattern is None or self._pattern.first(value) is not None)
        )


@dataclass(frozen=True)
class KeepingOracle(Oracle):
    """Rows of another one that fulfil conditions, without the columns that only these need."""

    schema: SchemaSpec
    inner: Oracle
    conditions: Sequence[Condition]

    def row(self, value: bytes) -> Row:
        return self._judged(self.inner.row(value))

    def row_of_record(self, key: bytes | None, value: bytes | None) -> Row | None:
        found = self.inner.row_of_record(key, value)
        row = self._judged({} if found is None else found)
        return None if found is None else row

    def _judged(self, row: Row) -> Row:
        if not all(question.holds(_at(row, question.condition.field or "")) for question in self._questions):
            raise LeftOutError
        return {name: value for name, value in row.items() if name in self._stored}

    @cached_property
    def _stored(self) -> frozenset[str]:
        return frozenset(one.name for one in self.schema.columns)

    @cached_property
    def _questions(self) -> Sequence[Question]:
        parsed = self.inner.schema
        formats = {one.name: one.format or "rfc3339" for one in parsed.columns}
        found: list[Question] = []
        for one in self.conditions:
            path = one.field or ""
            type_, reading = parsed.type_at(path), Reading(formats[path.split(".")[0]])
            assert type_ is not None, "the manifest was checked"
            found.append(Question.of(one, partial(_operand, type_=type_, reading=reading)))
        return found


def keeping(make: Callable[[SchemaSpec], Oracle], schema: SchemaSpec, conditions: Sequence[Condition]) -> Oracle:
    """Return an oracle whose rows fulfil those conditions that are on fields; `make` returns one of any rows."""
    found = field_conditions(conditions)
    if not found:
        return make(schema)
    return KeepingOracle(schema, make(schema.parsed_for(named_columns(found))), found)


def _operand(value: Any, type_: Type, reading: Reading) -> Any:
    """Return what a value of the manifest is in rows."""
    if type_ in _AS_WRITTEN:
        return value
    if isinstance(value, str):
        return number_value(value, type_, reading) if isinstance(type_, Decimal) else column_value(value, type_, _TEXTS)
    whole = isinstance(value, float) and value.is_integer() and type_ not in _FLOATS
    return number_value(str(int(value)) if whole else repr(value), type_, reading)


_TEXTS: Final = Reading("rfc3339")


def _at(row: Mapping[str, Any], path: str) -> Any:
    found: Any = row
    for name in path.split("."):
        found = None if found is None else found.get(name)
    return found


@dataclass(frozen=True, slots=True)
class HeaderOracle:
    """Conditions on headers, as `records.keeping` has them, once more."""

    questions: Sequence[Question]

    @classmethod
    def of(cls, conditions: Sequence[Condition]) -> Self | None:
        """Take those of conditions that are on headers; None: no condition is."""
        found = [Question.of(one, str.encode) for one in header_conditions(conditions)]
        return cls(found) if found else None

    def kept(self, batch: pa.RecordBatch) -> "npt.NDArray[np.int64] | None":
        """Return the rows of a batch that fulfil all."""
        records: list[Any] = batch.column("headers").to_pylist()
        return np.array([place for place, headers in enumerate(records) if self._holds(headers)], np.int64)

    def _holds(self, headers: Sequence[Mapping[str, bytes | None]]) -> bool:
        values = {header["key"]: header["value"] for header in headers}  # of a name that comes twice the last one
        return all(one.holds(values.get((one.condition.header or "").encode())) for one in self.questions)
