"""Values that are JSON, for whole batches at once: documents are checked, objects become rows (docs/schemas.md)."""

from dataclasses import dataclass
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.values.faults import REFUSED, FaultsSpec
from logpersister.values.parser import Framing, Parsing, UnknownFields
from logpersister.values.reading.columns import row_columns
from logpersister.values.reading.native_rows import NativeRows
from logpersister.values.reading.parsers import Parsed, Refused
from logpersister.values.row_schema import RowSchema

DOCUMENT_RULES: Final = 1
"""Raise it when a document is judged otherwise than before, also by a new serde_json."""
RULES: Final = 2
"""Raise it when an object is accepted or refused otherwise than before, or becomes another row."""
NOT_JSON: Final = "not_json"
"""Why a document is refused, in the words of parsers that make rows."""


@dataclass(frozen=True, slots=True)
class JsonParser:
    """Each value is one JSON document (RFC 8259) in UTF-8, nested at most 128 deep. Null values are not looked at."""

    def parse(self, batch: pa.RecordBatch) -> Parsed:
        rows, reason = native.not_json(cast("pa.BinaryArray", batch.column("value")))
        if reason is None:
            return Parsed()
        reasons, fields = pa.repeat(NOT_JSON, len(rows)), pa.nulls(len(rows), pa.string())
        return Parsed(None, Refused(rows.to_numpy(zero_copy_only=True), f"not JSON: {reason}", reasons, fields))


@dataclass(frozen=True, slots=True)
class JsonRows(NativeRows["native.RowParser"]):
    """Each value is a header, if any, and one JSON object with the fields of a schema."""

    schema: RowSchema
    unknown_fields: UnknownFields
    faults: FaultsSpec = REFUSED
    framing: Framing = "plain"

    def make(self) -> "native.RowParser":
        return native.RowParser(
            row_columns(self.schema), unknown_fields=self.unknown_fields, faults=self.faults.words, framing=self.framing
        )


def make_rows(parser: Parsing, schema: RowSchema) -> JsonRows:
    return JsonRows(schema, parser.unknown_fields, parser.faults, parser.framing)
