"""How values of kind ``regex`` are read."""

from typing import Annotated

from logpersister.forms.constraint import Condition, Model, Text
from logpersister.forms.nulls import NullMisleads
from logpersister.forms.pattern import LONGEST_PATTERN, NO_PATTERN, PATTERN_REMEDY, groups_of
from logpersister.values.names import NullText


def _is_a_pattern(text: str) -> bool:
    groups_of(text)
    return True


PatternText = Annotated[
    str,
    Text(
        r"^[\s\S]+$",
        "is empty",
        "write for example (?P<level>[A-Z]+) (?P<message>.*)",
        LONGEST_PATTERN,
        conditions=(Condition(_is_a_pattern, NO_PATTERN, PATTERN_REMEDY),),
    ),
]


class RegexSpec(Model):
    """How values of parser ``regex`` are read: by a pattern whose named groups are the fields."""

    pattern: PatternText
    """Regular expression that each value must match as a whole. The group with the name of a field gives its value:
    `(?P<level>[A-Z]+)`.
    """

    null_text: Annotated[NullText | None, NullMisleads()] = None
    """Text of a group that means null, for example `-`."""
