"""Values that are records of CSV: ``csv`` of ``spec.value``."""

from collections.abc import Iterator
from typing import Literal

from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.csv.syntax import CsvSpec
from logpersister.values.faults import LineFaultsSpec
from logpersister.values.kind import Fields
from logpersister.values.names import FieldName
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema


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
            syntax=self,
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
