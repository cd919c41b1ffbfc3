"""Rows: values that are lines of text become typed columns, straight and for whole batches at once.

The parsers are native (spark-app/native). docs/schemas.md says what becomes what; `verify.csv_record` and
`verify.pattern` say the same once more.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.line_parsers import CsvSpec, RegexSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.parsers import Parsed
from logpersister.records.rows import MOST_PARSERS, parsed_of

CSV_RULES: Final = 1
"""Raise it when a CSV record is accepted or refused otherwise than before, or becomes another row."""
REGEX_RULES: Final = 1
"""The same of a text that a pattern matches."""


@dataclass(frozen=True, slots=True)
class CsvRows:
    """Each value is one CSV record with the fields of a schema. Null values become no row."""

    schema: SchemaSpec
    syntax: CsvSpec
    keeps_unknown: bool = False
    """Whether the last column has what the schema does not name."""
    faults: FaultsSpec = REFUSED

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        return parsed_of(*_native_csv(self).parse(cast("pa.BinaryArray", batch.column("value"))))


@dataclass(frozen=True, slots=True)
class RegexRows:
    """Each value is a text that a pattern matches; its groups are the fields of a schema. Null values become no row."""

    schema: SchemaSpec
    regex: RegexSpec
    faults: FaultsSpec = REFUSED

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        return parsed_of(*_native_regex(self).parse(cast("pa.BinaryArray", batch.column("value"))))


@lru_cache(maxsize=MOST_PARSERS)
def _native_csv(of: CsvRows) -> "native.CsvParser":
    syntax = of.syntax
    return native.CsvParser(
        row_columns(of.schema),
        names=syntax.columns or [one.name for one in of.schema.declared],
        delimiter=syntax.delimiter,
        quote=syntax.quote,
        escape=syntax.escape,
        null=syntax.null_text,
        unknown_fields="keep" if of.keeps_unknown else "drop",
        faults=of.faults.words,
    )


@lru_cache(maxsize=MOST_PARSERS)
def _native_regex(of: RegexRows) -> "native.RegexParser":
    columns, regex = row_columns(of.schema), of.regex
    return native.RegexParser(columns, pattern=regex.pattern, null=regex.null_text, faults=of.faults.words)
