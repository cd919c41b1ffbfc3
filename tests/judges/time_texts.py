"""What texts in the notations of docs/schemas.md#times say, once more: no code of the native parser is in it."""

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final

from logpersister.forms.notation import MONTHS, Part, pattern_parts
from tests.judges.refusal import RefusalError

_DAY: Final = 86_400
_ZONE: Final = r"(?P<zone>[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?"
_TIME: Final = (
    r"(?P<HH>\d\d)(?::(?P<mm>\d\d)(?::(?P<ss>\d\d)(?:[.,](?P<fraction>\d+))?)?"
    r"|(?P<mm2>\d\d)(?:(?P<ss2>\d\d)(?:[.,](?P<fraction2>\d+))?)?)?"
)
_DATE: Final = r"(?P<yyyy>\d{4})-(?P<MM>\d\d)-(?P<dd>\d\d)|(?P<yyyy2>\d{4})(?P<MM2>\d\d)(?P<dd2>\d\d)"
_ISO8601: Final = re.compile(rf"(?:{_DATE})(?:[Tt ]{_TIME}{_ZONE})?", re.ASCII)
_PARTS: Final = {
    "yyyy": r"(?P<yyyy>\d{4})",
    "MM": r"(?P<MM>\d\d)",
    "MMM": rf"(?P<MM>{'|'.join(MONTHS)})",
    "dd": r"(?P<dd>\d\d)",
    "HH": r"(?P<HH>\d\d)",
    "mm": r"(?P<mm>\d\d)",
    "ss": r"(?P<ss>\d\d)",
    "Z": r"(?P<zone>[+-](?:[01]\d|2[0-3])[0-5]\d)",
    "XX": r"(?P<zone>Z|[+-](?:[01]\d|2[0-3])[0-5]\d)",
    "XXX": r"(?P<zone>Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
}


def instant_of(text: str, notation: str) -> tuple[int, int]:
    """Return the seconds since 1970 that a text says, and nanoseconds from there. Raises `RefusalError`.

    `notation`: ``iso8601`` or a pattern.
    """
    found = _expression(notation).fullmatch(text)
    if found is None:
        raise RefusalError("bad_text")
    said = {name.rstrip("2"): value for name, value in found.groupdict().items() if value is not None}
    return _instant(said)


@lru_cache(maxsize=256)
def _expression(notation: str) -> re.Pattern[str]:
    parts = pattern_parts(notation)
    if parts is None:
        return _ISO8601
    return re.compile("".join(map(_part, parts)), re.ASCII)


def _part(part: Part) -> str:
    if part.is_literal:
        return re.escape(part.text)
    return _PARTS.get(part.text) or rf"(?P<fraction>\d{{{len(part.text)}}})"


def _instant(said: Mapping[str, str]) -> tuple[int, int]:
    hour, minute, second = (int(said.get(name, "0")) for name in ("HH", "mm", "ss"))
    if hour > 23 or minute > 59 or second > 60:
        raise RefusalError("bad_text")
    month = said["MM"]
    days = days_since_1970(
        int(said["yyyy"]), MONTHS.index(month) + 1 if month in MONTHS else int(month), int(said["dd"])
    )
    seconds = days * _DAY + hour * 3600 + minute * 60 + min(second, 59) - _ahead(said.get("zone", "Z"))
    if second == 60 and seconds % _DAY != _DAY - 1:
        raise RefusalError("bad_text")
    return seconds, int(said.get("fraction", "")[:9].ljust(9, "0"))


def _ahead(zone: str) -> int:
    """Return the seconds that a clock is ahead of UTC."""
    if zone in "Zz":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return int(zone[0] + "1") * (int(digits[:2]) * 60 + int(digits[2:])) * 60


def days_since_1970(year: int, month: int, day: int) -> int:
    """Return the days since 1970; the year 0, which Python does not have, is 400 years before the year 400."""
    try:
        shifted = date(year or 400, month, day)
    except ValueError:
        raise RefusalError("bad_text") from None
    return (shifted - date(1970, 1, 1)).days - (0 if year else 146_097)
