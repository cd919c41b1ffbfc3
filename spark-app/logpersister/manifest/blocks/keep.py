"""``spec.keep``: conditions on fields and headers; records that do not fulfil all of them are left out."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, WithJsonSchema

from logpersister.forms.constraint import Flag, Model, Text, must
from logpersister.forms.linear_pattern import check_linear
from logpersister.forms.pattern import size_of
from logpersister.forms.problems import Finding
from logpersister.forms.rule import exactly_one, refuses
from logpersister.manifest.blocks.type_place import HeaderName
from logpersister.values.names import FieldPath

MOST_CONDITIONS: Final = 20
MOST_VALUES: Final = 1000
LARGEST_PATTERN: Final = 1000
"""Characters and classes, counted as for `pattern.LARGEST`: what every engine of regular expressions takes."""

Operator = Literal["in", "notIn", "atLeast", "atMost", "below", "matches"]

Scalar = Annotated[Any, WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]
"""Text, a number, true or false, as the type of the field wants it (`condition_values`)."""
Scalars = Annotated[tuple[Scalar, ...], Field(min_length=1, max_length=MOST_VALUES)]

MatchPattern = Annotated[
    str,
    Text(
        r"^[^\r\n]+$",
        "is empty or has a line break",
        "write a regular expression such as ^de-",
        1000,
        conditions=(
            check_linear,
            must(
                lambda pattern: size_of(pattern) <= LARGEST_PATTERN,
                f"has more than {LARGEST_PATTERN:,} characters and classes, repeated ones counted so often",
                "repeat less in it",
            ),
        ),
    ),
]


class Condition(Model):
    """A condition on a field or a header. Several operators in it must all hold."""

    field: FieldPath | None = None
    """Field of `spec.value`: `country`, `meta.level` in a struct, `key.id` of keys. Exactly one of `field` and
    `header` is needed."""

    header: HeaderName | None = None
    """Header of the record. Only with `in`, `notIn` and
    `absent`."""

    one_of: Scalars | None = Field(default=None, alias="in")
    """The value is one of these."""

    not_in: Scalars | None = None
    """The value is none of these."""

    at_least: Scalar | None = None
    """The number or time is this one or larger."""

    at_most: Scalar | None = None
    """The number or time is this one or smaller."""

    below: Scalar | None = None
    """The number or time is smaller."""

    matches: MatchPattern | None = None
    """The text has a part that the regular expression matches (docs/schemas.md#regular-expressions); anchor it with ^
    and $."""

    absent: Flag | None = None
    """`true`: the field is absent or null. `false`: it has a value."""

    or_absent: Flag = False
    """Whether the condition also holds if the field or header is absent or null."""

    @property
    def operands(self) -> Mapping[Operator, Sequence[Any]]:
        """The values of each operator that is set, `absent` aside."""
        several: Mapping[Operator, Sequence[Any] | None] = {"in": self.one_of, "notIn": self.not_in}
        single: Mapping[Operator, Any] = {
            "atLeast": self.at_least,
            "atMost": self.at_most,
            "below": self.below,
            "matches": self.matches,
        }
        found = {operator: values for operator, values in several.items() if values is not None}
        return found | {operator: [value] for operator, value in single.items() if value is not None}

    @property
    def subject(self) -> str:
        """What it is about, for people."""
        return f"header {self.header}" if self.field is None else self.field

    def __str__(self) -> str:
        """Return the condition as people read it: ``country in DE, FR``."""
        told = [f"{operator} {', '.join(map(_written, values))}" for operator, values in self.operands.items()]
        told += [] if self.absent is None else ["absent" if self.absent else "not absent"]
        return f"{self.subject} {' and '.join(told)}" + (" or absent" if self.or_absent else "")

    _it_is_about_one_thing = exactly_one("field", "header")

    @refuses
    def _it_asks_for_something(self) -> Iterator[Finding]:
        if not self.operands and self.absent is None:
            told = "asks for nothing"
            yield Finding(told, "write one of in, notIn, atLeast, atMost, below, matches and absent")
        if self.absent is not None and (self.operands or self.or_absent):
            told = "contradicts other operators, which hold for values only"
            yield Finding(told, "remove it, or them; orAbsent makes them hold for absent fields, too", ("absent",))


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


Conditions = Annotated[tuple[Condition, ...], Field(max_length=MOST_CONDITIONS)]


def named_columns(conditions: Sequence[Condition]) -> frozenset[str]:
    """Return the outermost names of the fields that conditions are about."""
    return frozenset(one.field.partition(".")[0] for one in conditions if one.field is not None)


def header_conditions(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.header is not None)


def field_conditions(conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    return tuple(one for one in conditions if one.field is not None)
