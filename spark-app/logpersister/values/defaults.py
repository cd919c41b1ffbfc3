"""``default`` of a field: whether it fits the type, and how it is written in JSON. Pure.

What is accepted here, every parser reads. It may accept more forms of times and numbers than this.
"""

import base64
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from logpersister.forms.constraint import written_as_text
from logpersister.forms.notation import MONTHS, epoch_unit, pattern_parts
from logpersister.forms.problems import refuse
from logpersister.schemas.types import PER_SECOND, Binary, Decimal, Plain, Time, Timestamp, Type

DefaultValue = bool | int | float | str
LONGEST_DEFAULT: Final = 1000
"""Characters of a text: it may stand in each row."""
NO_DEFAULT: Final = "cannot be the default"

_LARGEST_SINGLE: Final = 3.4028234663852886e38
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,37})(?:\.[0-9]{1,38})?", re.ASCII)
_TIME: Final = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
_DATE: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_INSTANT: Final = re.compile(rf"({_DATE})T({_TIME})(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?", re.ASCII)
_FORMS: Final = {
    "MMM": "|".join(MONTHS),
    "Z": r"[+-]\d{4}",
    "XX": r"Z|[+-]\d{4}",
    "XXX": r"Z|[+-]\d\d:\d\d",
}
_FIRST, _END = -62_135_596_800, 253_402_300_800
"""Seconds from 1970 to the year 1, and to the year 10000."""


@dataclass(frozen=True, slots=True)
class OneValue:
    """Text, a number or a bool."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return written_as_text(self.validate, lambda value: value)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"x-kubernetes-preserve-unknown-fields": True}  # of any type

    def validate(self, value: object) -> DefaultValue:
        if isinstance(value, DefaultValue):
            return value
        raise refuse(f"{NO_DEFAULT}: it is no text, number or bool", "write for example unknown, 0 or false")


def default_text(value: DefaultValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def default_problem(value: DefaultValue, type_: Type, written: str | None) -> str | None:  # noqa: PLR0911
    """Return why a value cannot be the default of a field; None: it can.

    Args:
        value: as the manifest has it.
        type_: of the field.
        written: the notation of its timestamps; None: `rfc3339`.
    """
    if isinstance(value, str) and len(value) > LONGEST_DEFAULT:
        return f"it has more than {LONGEST_DEFAULT} characters"
    match type_:
        case Plain(name) if name in _PLAIN:
            return None if _PLAIN[name](value) else f"it is no {type_}"
        case Decimal(precision, scale):
            return None if _fits(value, precision, scale) else f"it is no {type_}; write it as text, exactly"
        case Binary():
            return None if _is_base64(value) else "it is no base64"
        case Time():
            return None if isinstance(value, str) and re.fullmatch(_TIME, value, re.ASCII) else "it is no time"
        case Timestamp(unit):
            is_one = _is_instant(value, unit) if written is None else _is_written_so(value, written, unit)
            return None if is_one else f"it is no timestamp as {written or 'rfc3339'}"
        case _:
            return f"fields of type {str(type_).partition('<')[0]} have none"


def _is_whole(value: DefaultValue, bits: int) -> bool:
    return type(value) is int and -(2 ** (bits - 1)) <= value < 2 ** (bits - 1)


def _is_real(value: DefaultValue, largest: float) -> bool:
    return type(value) in (int, float) and -largest <= value <= largest  # type: ignore[operator]


def _is_text(value: DefaultValue) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:
        return False


def _is_date(value: DefaultValue) -> bool:
    if not isinstance(value, str) or not re.fullmatch(_DATE, value, re.ASCII):
        return False
    try:
        return bool(date.fromisoformat(value))
    except ValueError:
        return False


_PLAIN: Final[Mapping[str, Callable[[DefaultValue], bool]]] = {
    "bool": lambda value: isinstance(value, bool),
    "int8": lambda value: _is_whole(value, 8),
    "int16": lambda value: _is_whole(value, 16),
    "int32": lambda value: _is_whole(value, 32),
    "int64": lambda value: _is_whole(value, 64),
    "float32": lambda value: _is_real(value, _LARGEST_SINGLE),
    "float64": lambda value: _is_real(value, sys.float_info.max),
    "string": _is_text,
    "date": _is_date,
}


def _fits(value: DefaultValue, precision: int, scale: int) -> bool:
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or _NUMBER.fullmatch(text) is None:
        return False
    whole, _, fraction = text.lstrip("-").partition(".")
    return len(fraction.rstrip("0")) <= scale and len(whole.lstrip("0")) <= precision - scale


def _is_base64(value: DefaultValue) -> bool:
    try:
        found = base64.b64decode(str(value).encode("ascii"), validate=True)
    except ValueError:
        return False
    return isinstance(value, str) and base64.b64encode(found) == value.encode()


def _is_written_so(value: DefaultValue, written: str, unit: str) -> bool:
    source = epoch_unit(written)
    if source is None:
        return _is_instant(_in_rfc3339(value, written), unit)
    if not isinstance(value, int) or not _is_whole(value, 64):
        return False
    return _is_in_range(value // PER_SECOND[source], unit)


def _in_rfc3339(value: DefaultValue, written: str) -> DefaultValue | None:
    """Return what a text in a pattern is in RFC 3339, which is also ISO 8601; None: it is not written so."""
    parts = pattern_parts(written)
    if parts is None or not isinstance(value, str):
        return value
    said, rest = {"HH": "00", "mm": "00", "ss": "00", "fraction": "0", "offset": "Z"}, value
    for part in parts:
        form = re.escape(part.text) if part.is_literal else _FORMS.get(part.text, rf"\d{{{len(part.text)}}}")
        found = re.match(form, rest, re.ASCII)
        if found is None:
            return None
        rest = rest[found.end() :]
        if not part.is_literal:
            said[part.kind] = found[0]
    month = said["MM"] if said["MM"].isdigit() else f"{MONTHS.index(said['MM']) + 1:02}"
    offset = said["offset"] if ":" in said["offset"] else re.sub(r"(..)$", r":\1", said["offset"])
    time = f"{said['HH']}:{said['mm']}:{said['ss']}.{said['fraction']}{offset}"
    return None if rest else f"{said['yyyy']}-{month}-{said['dd']}T{time}"


def _is_instant(value: DefaultValue | None, unit: str) -> bool:
    match = _INSTANT.fullmatch(value) if isinstance(value, str) else None
    if match is None or not _is_date(match[1]):
        return False
    zone = "+00:00" if match[3] in (None, "Z") else match[3]
    try:
        instant = datetime.fromisoformat(f"{match[1]}T{match[2][:8]}{zone}")
        return _is_in_range((instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1), unit)
    except (ValueError, OverflowError):
        return False


def _is_in_range(second: int, unit: str) -> bool:
    return _FIRST <= second < _END and abs(second + 1) * PER_SECOND[unit] < 2**63 - 1
