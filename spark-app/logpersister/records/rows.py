"""Rows: values that are JSON objects become typed columns, straight and for whole batches at once.

The parser is native (spark-app/native). What it accepts says docs/schemas.md.
"""

from dataclasses import dataclass
from typing import Final

import logpersister_native as native
from logpersister.manifest.faults import REFUSED, FaultsSpec
from logpersister.manifest.parser import Framing, ParserSpec, UnknownFields
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.records.columns import row_columns
from logpersister.records.native_rows import NativeRows

RULES: Final = 2
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""
FAULT_RULES: Final = 1
"""Version as `RULES` where ``spec.parser.faults`` adjusts values, a field has a default, or unknown fields are kept."""


@dataclass(frozen=True, slots=True)
class JsonRows(NativeRows["native.RowParser"]):
    """Each value is a header, if any, and one JSON object with the fields of a schema. Null values become no row."""

    schema: SchemaSpec
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED
    framing: Framing = "plain"

    def make(self) -> "native.RowParser":
        return native.RowParser(
            row_columns(self.schema), unknown_fields=self.unknown_fields, faults=self.faults.words, framing=self.framing
        )


def make_rows(parser: ParserSpec, schema: SchemaSpec) -> JsonRows:
    return JsonRows(schema, parser.unknown_fields, parser.faults, parser.framing)
