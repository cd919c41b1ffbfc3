"""Values of conditions as the columns have them, checked against the type of the field. Pure.

What Python has no exact type for is as it stands in Arrow: dates are days, times and timestamps units since midnight
and 1970.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal as Number
from decimal import localcontext
from typing import Any, Final, get_args

from logpersister.forms.notation import epoch_unit
from logpersister.forms.problems import Finding, PathStep, RefusedError, refuse, show
from logpersister.manifest.blocks.keep import Condition, Operator
from logpersister.schemas.types import BITS, PER_SECOND, Decimal, Plain, Time, Timestamp, Type
from logpersister.values.row_schema import RowSchema, no_field

NOT_COMPARED: Final = "cannot be compared"

TEXT: Final = Plain("string")
"""The type of headers."""
_NULL: Final = "remove it; orAbsent: true beside other values, or absent: true alone, takes what is absent or null"
_LISTS: Final[frozenset[Operator]] = frozenset({"in", "notIn"})
_BOUNDS: Final[frozenset[Operator]] = frozenset({"atLeast", "atMost", "below"})
_LARGEST_FLOAT: Final = {"float32": (2 - 2**-23) * 2.0**127, "float64": sys.float_info.max}
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME: Final = r"((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])(?:\.([0-9]{1,9}))?"
_INSTANT: Final = re.compile(rf"({_DATE})[Tt ]{_TIME}([Zz]|[+-][0-9]{{2}}:[0-9]{{2}})?", re.ASCII)
_NUMBER: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", re.ASCII)
_MOST_DIGITS: Final = 100
"""More than `_NUMBER` has, so that nothing is rounded."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def condition_findings(condition: Condition, schema: RowSchema) -> Iterator[Finding]:
    """Yield what of a condition does not go together with the schema."""
    type_: Type = TEXT
    notation = ""
    if condition.field is not None:
        found = schema.as_parsed.type_at(condition.field)
        if found is None:
            why, remedy = no_field(condition.field, schema)
            yield Finding(f"{NOT_COMPARED}: {why}", remedy, ("field",), f'"{condition.field}"')
            return
        type_, notation = found, notation_at(schema, condition.field)
    allowed = _allowed(type_, is_header=condition.header is not None)
    for operator, values in condition.operands.items():
        if operator not in allowed:
            yield Finding(f"{NOT_COMPARED}: {_kind(condition, type_)}", _instead(allowed), (operator,))
            continue
        for place, value in enumerate(values if operator != "matches" else ()):
            at: tuple[PathStep, ...] = (operator, place) if operator in _LISTS else (operator,)
            if value is None:
                yield Finding(f"{NOT_COMPARED}: it is no value", _NULL, at, show(value))
                continue
            try:
                typed(value, type_, notation)
            except RefusedError as error:
                told = f"{NOT_COMPARED}: {_kind(condition, type_)}{error.findings[0].expectation}"
                yield Finding(told, error.findings[0].remedy, at, show(value))


def operands(condition: Condition, type_: Type, notation: str) -> Mapping[Operator, Sequence[Any]]:
    """Return the values of each operator as the column has them, of a condition that was checked."""
    return {
        operator: values if operator == "matches" else [typed(value, type_, notation) for value in values]
        for operator, values in condition.operands.items()
    }


def notation_at(schema: RowSchema, path: str) -> str:
    """Return how values have the timestamps of a field."""
    name, _, inside = path.partition(".")
    columns = schema.columns
    if schema.key is not None and schema.key.column == name:
        columns = schema.key.schema.columns
        name = inside.partition(".")[0] or columns[0].name
    return next(one.format for one in columns if one.name == name) or "rfc3339"


def typed(value: object, type_: Type, notation: str) -> bool | int | float | Number | str:  # noqa: PLR0911 - one for each
    """Return a value as a column of this type has it. Raises `RefusedError`, which says what the type wants."""
    match type_:
        case Plain("string"):
            return _text(value)
        case Plain("bool"):
            if not isinstance(value, bool):
                raise refuse("", "write true or false")
            return value
        case Plain("date"):
            return _date(value)
        case Time(unit):
            return _time(value, unit)
        case Timestamp(unit):
            return _instant(value, unit, notation)
        case Decimal(precision, scale):
            return _decimal(value, precision, scale)
        case Plain("float32" | "float64" as name):
            return _float(value, _LARGEST_FLOAT[name])
        case Plain(name):
            return _whole(value, BITS[name])
    raise AssertionError(f"no operator takes values of {type_}")


def _allowed(type_: Type, *, is_header: bool) -> frozenset[Operator]:
    match type_:
        case Plain("string"):
            return _LISTS if is_header else _LISTS | {"matches"}
        case Plain("bool"):
            return _LISTS
        case Plain("float32" | "float64"):
            return _BOUNDS  # rounded numbers are hardly ever equal
        case Plain("json"):
            return frozenset()
        case Plain() | Decimal() | Time() | Timestamp():
            return _LISTS | _BOUNDS
        case _:
            return frozenset()


def _kind(condition: Condition, type_: Type) -> str:
    return f"{condition.subject} is text" if condition.header is not None else f"{condition.subject} is {type_}"


def _instead(allowed: frozenset[Operator]) -> str:
    known = [operator for operator in get_args(Operator) if operator in allowed]
    return f"write one of {', '.join([*known, 'absent'])}" if known else "only absent is for fields of this type"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise refuse("", "put it in quotes")  # such as the country NO, which is false to many a reader of YAML
    return value


def _whole(value: object, bits: int) -> int:
    number = _number(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)  # what the API server makes of 2.0
    if not isinstance(number, int):
        raise refuse("", "write a whole number without quotes")
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise refuse(", which has no such number", f"write one of {-(2 ** (bits - 1))} to {2 ** (bits - 1) - 1}")
    return number


def _number(value: object) -> int | float | None:
    """Return a number; None for what is none, or what another reader of the manifest may have rounded."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -(2**63) <= value < 2**63 else None


def _float(value: object, largest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse("", "write a number without quotes")
    if not abs(value) <= largest:
        raise refuse(", which has no such number", f"write one of {-largest:.7g} to {largest:.7g}")
    return float(value)


def _decimal(value: object, precision: int, scale: int) -> Number:
    told = value if isinstance(value, str) and _NUMBER.fullmatch(value) else _number(value)
    if told is None:
        raise refuse("", 'write a number, or in quotes one of any length, for example "0.10"')
    with localcontext(prec=_MOST_DIGITS):
        number = Number(str(told))
        shifted = number.scaleb(scale)
        if shifted != shifted.to_integral_value() or abs(shifted) >= 10**precision:
            raise refuse(", which has no such number", f"write one with at most {scale} digits behind the point")
    return number


def _date(value: object) -> int:
    if not isinstance(value, str) or not re.fullmatch(_DATE, value, re.ASCII):
        raise refuse("", 'write for example "2026-11-21"')
    try:
        return (date.fromisoformat(value) - _EPOCH.date()).days
    except ValueError:
        raise refuse(", and there is no such day", "correct the date") from None


def _time(value: object, unit: str) -> int:
    found = re.fullmatch(_TIME, value, re.ASCII) if isinstance(value, str) else None
    if found is None:
        raise refuse("", 'write for example "05:00:00"')
    midnight = _moment(f"1970-01-01T{found[1]}")
    return _ticks(midnight, found[2], unit)


def _instant(value: object, unit: str, notation: str) -> int:
    source = epoch_unit(notation)
    if source is not None and isinstance(value, int) and not isinstance(value, bool):
        per_second = PER_SECOND[source]
        return _in_range(_exactly(value * PER_SECOND[unit], per_second, unit), unit)
    found = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        also = "" if source is None else f", or a whole number as {notation} has it"
        raise refuse("", f'write for example "2026-11-21T05:00:00Z"{also}')
    offset = found[4] if found[4] not in (None, "Z", "z") else "+00:00"
    return _in_range(_ticks(_moment(f"{found[1]}T{found[2]}{offset}"), found[3], unit), unit)


def _moment(text: str) -> int:
    """Return the seconds since 1970 of a text in ISO 8601."""
    try:
        moment = datetime.fromisoformat(text)
        whole = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)) - _EPOCH
    except (ValueError, OverflowError):
        raise refuse(", and there is no such time", "correct it") from None
    return whole // timedelta(seconds=1)


def _ticks(seconds: int, fraction: str | None, unit: str) -> int:
    nanoseconds = int((fraction or "").ljust(9, "0") or 0)
    per_second = PER_SECOND[unit]
    return seconds * per_second + _exactly(nanoseconds * per_second, 10**9, unit)


def _exactly(number: int, divisor: int, unit: str) -> int:
    quotient, rest = divmod(number, divisor)
    if rest:
        raise refuse("", f"write a time without a part that is finer than {unit}")
    return quotient


def _in_range(ticks: int, unit: str) -> int:
    last = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
    first = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
    if not first * PER_SECOND[unit] <= ticks < (last + 1) * PER_SECOND[unit] or not -(2**63) <= ticks < 2**63:
        raise refuse(", which has no such time", "write one of the years 1 to 9999; with ns of 1678 to 2262")
    return ticks
