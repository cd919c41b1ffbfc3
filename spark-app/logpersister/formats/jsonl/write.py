"""Format ``jsonl``: a JSON object per line, of the fields of ``spec.value``, or of the whole record (the envelope).

docs/formats.md says how each type is written; the writer is native (spark-app/native/src/lines).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

import logpersister_native as native
from logpersister.formats import binary
from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.columnar import ColumnarFormat
from logpersister.formats.compression import CONTENT_TYPES, EXTENSIONS, Compressor, compressor
from logpersister.formats.file_columns import VALUE, Columns
from logpersister.formats.jsonl.settings import JsonLinesSpec
from logpersister.records.escaping import QUARANTINE
from logpersister.records.schema import HEADERS
from logpersister.values.reading.columns import NOTATION

RULES: Final = 2
"""Raise it when an object gets another extension, or a record becomes other bytes before they are compressed."""

_TEXT: "Final[dict[bytes | str, bytes | str]]" = {NOTATION: b"text"}
"""Notation of bytes that are text where they are UTF-8, else base64 in a field whose name ends in ``_base64``."""
_JSON: "Final[dict[bytes | str, bytes | str]]" = {NOTATION: b"json"}
_TEXT_HEADERS: Final = pa.list_(
    HEADERS.value_field.with_type(pa.struct([field.with_metadata(_TEXT) for field in HEADERS.value_type]))
)


@dataclass(frozen=True)
class JsonLinesFormat(ColumnarFormat[JsonLinesSpec]):
    """`formats.base.Format` for JSON lines."""

    values_are_json: bool = False
    """Whether a value that is no row is a JSON document (the parser has seen to it), or any bytes."""

    held_back = 1 << 20  # the state of a compressor, and a chunk

    @property
    def extension(self) -> str:
        return ".jsonl" + EXTENSIONS[self.settings.compression]

    @property
    def content_type(self) -> str:
        return CONTENT_TYPES.get(self.settings.compression, "application/x-ndjson")

    def encoder(self, identity: ObjectIdentity) -> "JsonLinesEncoder":
        columns = self.columns_at(identity.path)
        of_values = _JSON if self.values_are_json and identity.path != QUARANTINE else _TEXT
        notations = _with_notation(columns.schema, of_values)
        return JsonLinesEncoder(identity, columns, notations, compressor(self.settings.compression))


class JsonLinesEncoder:
    """`formats.base.Encoder` for JSON lines. Exhaust what a call returns before the next call."""

    def __init__(self, identity: ObjectIdentity, columns: Columns, notations: pa.Schema, stream: Compressor) -> None:
        self._identity = identity
        self._columns = columns
        self._notations = notations
        self._stream = stream

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        for part in binary.slices(batch):
            kept = self._columns.kept(part)
            rows = self._columns.rows(kept, self._identity)
            told = pa.RecordBatch.from_arrays(rows.columns, schema=self._notations)
            yield from self._stream.write(native.json_lines(told))

    def finish(self) -> Iterator[Bytes]:
        return self._stream.finish()


def _with_notation(schema: pa.Schema, of_values: dict[bytes | str, bytes | str]) -> pa.Schema:
    """Return the columns of a file with the notation of those bytes that `values.reading.columns` says none of."""
    fields = []
    for field in schema:
        if field.type == HEADERS:
            fields.append(field.with_type(_TEXT_HEADERS))
        elif pa.types.is_binary(field.type) and NOTATION not in (field.metadata or {}):
            fields.append(field.with_metadata(of_values if field.name == VALUE else _TEXT))
        else:
            fields.append(field)
    return pa.schema(fields)
