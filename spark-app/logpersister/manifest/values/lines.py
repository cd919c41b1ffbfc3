"""Values that are lines of text: ``csv`` and ``regex`` of ``spec.value``."""

from collections.abc import Iterator
from typing import Literal

from logpersister.forms.pattern import groups_of
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.manifest.values.faults import LineFaultsSpec
from logpersister.manifest.values.kind import Fields
from logpersister.manifest.values.line_parsers import CsvSpec, RegexSpec
from logpersister.manifest.values.names import FieldName
from logpersister.manifest.values.parser import Parsing
from logpersister.manifest.values.row_schema import RowSchema


class CsvValue(CsvSpec):
    """Each value is one record of RFC 4180, without a header."""

    fields: Fields
    """Fields that become columns; their types have no parts."""

    unknown_fields: Literal["drop", "keep"] = "drop"
    """Columns of values that no field is of. `drop` leaves them out; `keep` stores them as one JSON object in
    `restColumn`.
    """

    rest_column: FieldName | None = None
    """Name of the column that `unknownFields: keep` adds. Default: `_rest`."""

    faults: LineFaultsSpec = LineFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return Parsing(
            type="csv",
            csv=self,
            unknown_fields=self.unknown_fields,
            rest_column=self.rest_column,
            faults=self.faults.chosen,
        )

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=self.fields)

    @refuses
    def _columns_are_named(self) -> Iterator[Finding]:
        """Further columns of values are named by numbers in the column of what is kept."""
        names = () if self.unknown_fields != "keep" else self.columns or ()
        for place, name in enumerate(names):
            if name.isdecimal():
                told = "is a number, as further columns of values are called in the column of what is kept"
                yield Finding(told, "give it another name", ("columns", place), f'"{name}"')
        for place, one in enumerate(self.fields if self.columns is not None else ()):
            if one.name not in (self.columns or ()):
                remedy = "add it to columns, at its place in the values, or remove it"
                yield Finding("is not a field of the values", remedy, ("fields", place, "name"), f'"{one.name}"')


class RegexValue(RegexSpec):
    """Each value is a text that a pattern matches."""

    fields: Fields
    """Fields that become columns, each a group of the pattern; their types have no parts."""

    faults: LineFaultsSpec = LineFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return Parsing(type="regex", regex=self, faults=self.faults.chosen)

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
