"""Values that are texts of a pattern: ``regex`` of ``spec.value``."""

from collections.abc import Iterator
from typing import Annotated

from logpersister.forms.constraint import Model, Text
from logpersister.forms.nulls import NullMisleads
from logpersister.forms.pattern import LONGEST_PATTERN, groups_of
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.faults import LineFaultsSpec
from logpersister.values.kind import Fields, parsing
from logpersister.values.names import NullText
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema

PatternText = Annotated[
    str,
    Text(
        r"^[\s\S]+$",
        "is empty",
        "write for example (?P<level>[A-Z]+) (?P<message>.*)",
        LONGEST_PATTERN,
        conditions=(groups_of,),
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


class RegexValue(RegexSpec):
    """Each value is a text that a pattern matches."""

    fields: Fields
    """Fields that become columns, each a group of the pattern; their types have no parts."""

    faults: LineFaultsSpec = LineFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return parsing("regex", self, syntax=self)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=self.fields)

    @refuses
    def _groups_are_fields(self) -> Iterator[Finding]:
        groups, names = groups_of(self.pattern), {one.name for one in self.fields}
        for place, one in enumerate(self.fields):
            if one.name not in groups:
                remedy = f"write for example (?P<{one.name}>[^ ]*) into pattern, or remove it"
                yield Finding("is not a field of the values", remedy, ("fields", place, "name"), f'"{one.name}"')
        for name in groups:
            if name not in names:
                remedy = f"add the field {name}, or write (?:...) instead of (?P<{name}>...)"
                yield Finding(f"has a group whose name is not a field: {name}", remedy, ("pattern",))
