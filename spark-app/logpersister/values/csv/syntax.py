"""How values of kind ``csv`` are written."""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from logpersister.forms.constraint import Model, Text, Unique
from logpersister.forms.nulls import NullMisleads
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.names import NullText

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
