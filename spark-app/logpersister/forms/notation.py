"""Notations of instants in values: RFC 3339, ISO 8601, a pattern, or a number of units since 1970. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from logpersister.forms.constraint import Text, must

RFC3339: Final = "rfc3339"

Unit = Literal["s", "ms", "us", "ns"]
Token = Literal["yyyy", "MM", "MMM", "dd", "HH", "mm", "ss", "Z", "XX", "XXX"]
"""A part of a pattern that has a value, beside fractions of a second (`S` to `SSSSSSSSS`)."""

MONTHS: Final = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
"""Months as the token `MMM` has them."""

_PATTERN: Final = re.compile(r"pattern\[(.*)\]", re.DOTALL)
_PART: Final = re.compile(r"'(?P<quoted>[^']*)'|(?P<token>(?P<letter>[A-Za-z])(?P=letter)*)|(?P<sign>.)", re.DOTALL)
_IN_CEL: Final = (
    r"^(rfc3339|iso8601|epoch\[(s|ms|us|ns)\]"
    r"|pattern\[(yyyy|MMM?|dd|HH|mm|ss|S{1,9}|Z|XXX?|'[ -&(-~]*'|[ -&(-@\\^-`{-~])+\])$"
)
_INSIDE: Final = {"mm": "HH", "ss": "mm", "fraction": "ss", "offset": "HH"}
"""Required part per part of a pattern."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a pattern."""

    text: str
    """A `Token`, or letters `S`; or what stands there as it is."""
    is_literal: bool = False

    @property
    def kind(self) -> str:
        """What it tells: a pattern has each kind once."""
        if self.text in ("Z", "XX", "XXX"):
            return "offset"
        return "fraction" if self.text[0] == "S" else "MM" if self.text == "MMM" else self.text


def epoch_unit(notation: str | None) -> str | None:
    """Return the unit of numbers since 1970; None: the notation is one of texts."""
    return notation[6:-1] if notation is not None and notation.startswith("epoch[") else None


def pattern_parts(notation: str) -> tuple[Part, ...] | None:
    """Return the parts of a pattern; None: the notation is none."""
    found = _PATTERN.fullmatch(notation)
    return None if found is None else tuple(_parts(found[1]))


def _parts(pattern: str) -> Iterator[Part]:
    for one in _PART.finditer(pattern):
        if one["token"] is not None:
            yield Part(one["token"])
        else:
            literal = one["sign"] if one["quoted"] is None else one["quoted"] or "'"
            yield Part(literal, is_literal=True)


def _tells_an_instant(notation: str) -> bool:
    """Whether a pattern, if it is one, has each part once, a whole date, and no part without that around it."""
    parts = pattern_parts(notation)
    if parts is None:
        return True
    said = [one for one in parts if not one.is_literal]
    if any(one.text not in get_args(Token) and re.fullmatch("S{1,9}", one.text) is None for one in said):
        return False
    kinds = [one.kind for one in said]
    whole = {"yyyy", "MM", "dd"} <= set(kinds) and all(_INSIDE.get(kind, kind) in kinds for kind in kinds)
    return whole and len(set(kinds)) == len(kinds)


Notation = Annotated[
    str,
    Text(
        _IN_CEL,
        "is no notation of times",
        "write rfc3339, iso8601, epoch[s], epoch[ms], epoch[us], epoch[ns], or for example"
        " pattern[dd/MMM/yyyy:HH:mm:ss Z] (docs/schemas.md#times)",
        96,
        conditions=(
            must(
                _tells_an_instant,
                "is a pattern that tells no instant",
                "write yyyy, MM or MMM, and dd, each once; with mm also HH, with ss also mm, with S also ss",
            ),
        ),
    ),
]
