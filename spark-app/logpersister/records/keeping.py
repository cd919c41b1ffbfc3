"""Evaluates ``spec.keep``, for whole batches at once.

Conditions on fields are judged between the parser and everything else, before fields are hidden; those on headers
before anything is parsed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from logpersister.manifest.blocks.keep import Condition, Operator, field_conditions, header_conditions, named_columns
from logpersister.manifest.rules.condition_values import TEXT, notation_at, operands
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.parsers import Parsed, Parser
from logpersister.values.reading.record_headers import last_header
from logpersister.values.row_schema import RowSchema

RULES: Final = 1
"""Raise it when a record is kept or left out otherwise than before."""

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ColumnTest:
    """A condition on a column, with its operands as Arrow values."""

    condition: Condition
    operands: Mapping[Operator, Any]
    """An array of the column's type for ``in`` and ``notIn``, a scalar of it for bounds, a pattern for ``matches``."""

    @classmethod
    def of(cls, condition: Condition, type_: Any, found: Mapping[Operator, Sequence[Any]]) -> Self:
        """Take the operands of a condition on a column of an Arrow type."""
        arrays = {operator: _array(values, type_) for operator, values in found.items() if operator != "matches"}
        taken: dict[Operator, Any] = {
            operator: values if operator in ("in", "notIn") else values[0] for operator, values in arrays.items()
        }
        if condition.matches is not None:
            taken["matches"] = re2_pattern(condition.matches)
        return cls(condition, taken)

    def holds(self, column: Any) -> Mask:
        """Return of which values it holds."""
        if self.condition.absent is not None:
            return _mask(column.is_null() if self.condition.absent else column.is_valid())
        good = np.ones(len(column), np.bool_)
        for operator, operand in self.operands.items():
            good &= _mask(_OPERATORS[operator](column, operand))
        if column.null_count:
            # A null is in no list, and what is compared with it is null; only `notIn` would let it through.
            good = good | _mask(column.is_null()) if self.condition.or_absent else good & _mask(column.is_valid())
        return good


_OPERATORS: "Final[Mapping[Operator, Callable[[Any, Any], Any]]]" = {
    "in": lambda column, values: pc.is_in(column, value_set=values),
    "notIn": lambda column, values: pc.invert(pc.is_in(column, value_set=values)),
    "atLeast": pc.greater_equal,
    "atMost": pc.less_equal,
    "below": pc.less,
    "matches": pc.match_substring_regex,
}


def _mask(found: Any) -> Mask:
    return cast("Mask", found.fill_null(False).to_numpy(zero_copy_only=False))  # noqa: FBT003 - of the stubs


def _array(values: Sequence[Any], type_: Any) -> Any:
    if pa.types.is_temporal(type_):  # values are ticks
        return pa.array(values, pa.int32() if type_.bit_width == 32 else pa.int64()).cast(type_)
    return pa.array(values, type_)


class Headers(Protocol):
    """Conditions on headers."""

    def kept(self, batch: pa.RecordBatch) -> Rows | None:
        """Return the rows of a batch (columns of `records.schema`, with headers) that fulfil all; None: all do."""


@dataclass(frozen=True, slots=True)
class HeaderTests:
    """Conditions on headers."""

    tests: Sequence[ColumnTest]

    @classmethod
    def of(cls, conditions: Sequence[Condition]) -> Self | None:
        """Take those of conditions that are on headers; None: no condition is."""
        found = header_conditions(conditions)
        tests = [ColumnTest.of(one, pa.binary(), _in_bytes(operands(one, TEXT, ""))) for one in found]
        return cls(tests) if tests else None

    def kept(self, batch: pa.RecordBatch) -> Rows | None:
        """Return the rows of a batch with headers that fulfil all; None: all of them."""
        good = np.ones(batch.num_rows, np.bool_)
        for one in self.tests:
            good &= one.holds(last_header(batch, (one.condition.header or "").encode()))
        return None if good.all() else np.flatnonzero(good)


def _in_bytes(found: Mapping[Operator, Sequence[Any]]) -> Mapping[Operator, Sequence[Any]]:
    return {operator: [text.encode() for text in texts] for operator, texts in found.items()}


@dataclass(frozen=True, slots=True)
class KeepingParser:
    """A parser that leaves out rows which do not fulfil conditions, and then columns that only these need."""

    inner: Parser
    tests: Sequence[tuple[Sequence[str], ColumnTest]]
    """Tests by the path of their field."""
    columns: Sequence[str]

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        parsed = self.inner.parse(batch)
        rows = parsed.rows
        assert rows is not None
        good = np.ones(len(rows), np.bool_)
        for path, test in self.tests:
            good &= test.holds(_field(rows, path))
        if good.all():
            return replace(parsed, rows=self._stored(rows))
        return parsed.without(~good, batch.num_rows, self._stored(rows.filter(pa.array(good, pa.bool_()))))

    def _stored(self, rows: pa.StructArray) -> pa.StructArray:
        if len(self.columns) == rows.type.num_fields:
            return rows
        places = [place for place, field in enumerate(rows.type) if field.name in self.columns]
        from_arrays = cast("Callable[..., pa.StructArray]", pa.StructArray.from_arrays)
        columns, fields = [rows.field(place) for place in places], [rows.type.field(place) for place in places]
        return from_arrays(columns, fields=fields, mask=rows.is_null())


def keeping(make: Callable[[RowSchema], Parser], schema: RowSchema, conditions: Sequence[Condition]) -> Parser:
    """Return a parser whose rows fulfil those conditions that are on fields.

    Args:
        make: makes rows of a schema.
        schema: what is stored of rows.
        conditions: that were checked against it.
    """
    found = field_conditions(conditions)
    if not found:
        return make(schema)
    parsed = schema.parsed_for(named_columns(found))
    return KeepingParser(make(parsed), list(_tests(parsed, found)), [one.name for one in schema.columns])


def _tests(schema: RowSchema, conditions: Sequence[Condition]) -> Iterator[tuple[Sequence[str], ColumnTest]]:
    for one in conditions:
        path = (one.field or "").split(".")
        type_, arrow = schema.type_at(one.field or ""), row_columns(schema).field(path[0]).type
        for name in path[1:]:
            arrow = arrow.field(name).type
        if type_ is None:
            raise ValueError(f"condition {one} is about no field")
        yield path, ColumnTest.of(one, arrow, operands(one, type_, notation_at(schema, one.field or "")))


def _field(rows: pa.StructArray, path: Sequence[str]) -> Any:
    struct_field = cast("Callable[[Any, list[str]], Any]", pc.struct_field)
    return struct_field(rows, list(path))


_SPACES: Final = r"\t\n\v\f\r "
_NO_SPACES: Final = r"\x00-\x08\x0e-\x1f!-\x{10ffff}"


def re2_pattern(pattern: str) -> str:
    r"""Return a pattern of `forms.pattern` as RE2 has it, where ``\s`` lacks the vertical tab."""
    parts: list[str] = []
    characters = iter(pattern)
    in_class = False
    for character in characters:
        if character == "\\":
            sign = next(characters)  # there is one, by the grammar
            spaces = {"s": _SPACES, "S": _NO_SPACES}.get(sign)
            if spaces is None:
                parts.append(f"\\{sign}")
            else:
                parts.append(spaces if in_class else f"[{spaces}]")
            continue
        in_class = (in_class or character == "[") and character != "]"
        parts.append(character)
    return "".join(parts)
