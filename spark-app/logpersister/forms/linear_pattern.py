r"""Regular expressions for texts that others choose: found in time that is linear in the text. Pure.

Python's own engine tries every way to match, so a pattern such as ``^(a+)+$`` can take hours for a text of 30 letters.
The engine here is that of Rust, which comes with pydantic. Classes and ``\b`` are of ASCII, as for the parser ``regex``
(`logpersister.forms.pattern` has the grammar).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from pydantic_core import SchemaError, SchemaValidator, core_schema

from logpersister.forms.pattern import NO_PATTERN, PATTERN_REMEDY, groups_of
from logpersister.forms.problems import refuse

_IN_ASCII: Final = {
    "d": "[0-9]",
    "D": "[^0-9]",
    "w": "[0-9A-Za-z_]",
    "W": "[^0-9A-Za-z_]",
    "s": r"[\t\n\x0b\x0c\r ]",
    "S": r"[^\t\n\x0b\x0c\r ]",
    "b": r"(?-u:\b)",
}


def check_linear(pattern: str) -> None:
    """Raise `RefusedError` for what is no pattern, with the position."""
    groups_of(pattern)
    try:
        _compiled(pattern)
    except SchemaError:
        raise refuse(f"{NO_PATTERN} takes too much memory when it is compiled", PATTERN_REMEDY) from None


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns, compiled; and all of them as one, so that what none matches, as most garbage, costs one search."""

    each: Sequence[SchemaValidator]
    any: SchemaValidator | None
    """None: there is only one, or as one they are too large."""

    @classmethod
    def of(cls, patterns: Sequence[str]) -> Self:
        """Compile patterns that are valid."""
        each = tuple(map(_compiled, patterns))
        if len(each) < 2:
            return cls(each, None)
        try:
            return cls(each, _compiled("|".join(f"(?:{pattern})" for pattern in patterns)))
        except SchemaError:
            return cls(each, None)

    def first(self, text: str) -> int | None:
        """Return the place of the first pattern that matches anywhere in a text."""
        if self.any is not None and not self.any.isinstance_python(text):
            return None
        return next((place for place, one in enumerate(self.each) if one.isinstance_python(text)), None)


def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=_in_ascii(pattern), regex_engine="rust-regex"))


def _in_ascii(pattern: str) -> str:
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character != "\\":
            parts.append(character)
            continue
        sign = next(characters)  # there is one, by the grammar
        parts.append(_IN_ASCII.get(sign, f"\\{sign}"))
    return "".join(parts)
