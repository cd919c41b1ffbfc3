"""Rows of texts that a pattern matches made once more, by Python's regular expressions.

`forms.pattern` accepts what means the same here and in the native parser. Python tries every way to match, so a
pattern such as ``(?:a+)+b`` can take it very long where the native parser takes linear time.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.regex.block import RegexSpec
from logpersister.values.row_schema import RowSchema
from tests.judges.csv_record import decoded, read_column
from tests.judges.refusal import RefusalError
from tests.judges.rows import Oracle, Row


@dataclass(frozen=True)
class RegexOracle(Oracle):
    """A parser, as `values.reading.parsers` has them, once more."""

    schema: RowSchema
    regex: RegexSpec
    faults: FaultsSpec = REFUSED

    def row(self, value: bytes) -> Row:
        match = self._pattern.fullmatch(decoded(value, self.faults))
        if match is None:
            raise RefusalError("no_match")
        null = self.regex.null_text
        found = {one.name: match[one.name] for one in self.schema.columns}
        return {
            one.name: read_column(None if found[one.name] == null else found[one.name], one, self.faults)
            for one in self.schema.columns
        }

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(_at_the_end(self.regex.pattern), re.ASCII)


def _at_the_end(pattern: str) -> str:
    r"""Return a pattern whose ``$`` is the end of the text only, not also before a line break there."""
    parts = re.findall(r"\\.|\[\^?(?:\\.|[^\]\\])*\]|[\s\S]", pattern, re.DOTALL)
    return "".join(r"\Z" if part == "$" else part for part in parts)
