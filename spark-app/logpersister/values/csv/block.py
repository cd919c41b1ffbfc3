"""Values that are records of CSV: ``csv`` of ``spec.value``."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from logpersister.forms.constraint import Model, Text, Unique
from logpersister.forms.nulls import NullMisleads
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.faults import LineFaultsSpec
from logpersister.values.kind import Fields, parsing
from logpersister.values.names import FieldName, NullText
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema

MOST_NAMES: Final = 1000
_SIGN: Final = r"[\x01-\x09\x0b\x0c\x0e-\x2f:-@\[-`{-\x7e]"
"""ASCII without letters, digits and line breaks."""

Delimiter = Annotated[
    str,
    Text(
        rf"^{_SIGN}$",
        "is not one ASCII character (no letter, digit or line break)",
        'write for example ";" or "\\t" in double quotes',
        1,
    ),
]
OptionalSign = Annotated[
    str,
    Text(
        rf"^{_SIGN}?$",
        "is neither one ASCII character (no letter, digit or line break) nor empty",
        "write the character, or leave it empty if values have none",
        1,
    ),
]


ColumnName = Annotated[
    str, Text(r"^[^\r\n]+$", "is not a name of one line", "write the name that the column has, or any other one", 64)
]


class CsvSpec(Model):
    """How values of parser ``csv`` are written: one record of RFC 4180 each, without a header."""

    delimiter: Delimiter = ","
    """Character between two columns, for example `";"`, `"\\t"` or `"\\u0001"`."""

    quote: Annotated[OptionalSign, NullMisleads()] = '"'
    """Character around a text that may contain the delimiter or line breaks; doubled inside, it stands for itself.
    Empty: none.
    """

    escape: OptionalSign = ""
    """Character before a character that stands for itself, in quotes or not. Empty: none."""

    null_text: Annotated[NullText, NullMisleads()] = ""
    """Text that means null unless it is in quotes."""

    columns: Annotated[tuple[ColumnName, ...], Field(min_length=1, max_length=MOST_NAMES), Unique()] | None = None
    """Names of the columns in their order; those that `spec.value` does not name are left out. Default: the fields of
    the schema.
    """

    @refuses
    def _signs_differ(self) -> Iterator[Finding]:
        signs = [one for one in (self.delimiter, self.quote, self.escape) if one]
        if len(set(signs)) < len(signs):
            told = "is also the delimiter, or the same as escape"
            yield Finding(told, "choose three different characters", ("quote",))


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
        return parsing("csv", self, syntax=self)

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
