"""Values that are JSON documents without columns: they are checked, and stored as they are."""

from dataclasses import dataclass
from typing import Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.values.reading.parsers import Parsed, Refused

RULES: Final = 1
"""Raise it when a document is judged otherwise than before, also by a new serde_json."""
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
