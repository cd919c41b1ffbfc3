"""Rows: values that are Avro records become typed columns for whole batches at once.

The parser is native (spark-app/native). It resolves each writer's schema against the columns once, by the rules of
Avro's specification; docs/schemas.md says which types become which.
"""

import json
from typing import Any, Final, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.formats.avro_numbers import written
from logpersister.manifest.values.faults import REFUSED, FaultsSpec
from logpersister.manifest.values.parser import Framing
from logpersister.manifest.values.row_schema import RowSchema
from logpersister.records.columns import row_columns
from logpersister.records.resolved_rows import GIVEN, ResolvedRows
from logpersister.records.unread_fields import tell, unread_fields
from logpersister.records.writers import Writers

AVRO_RULES: Final = 2
"""Raise it when a value is accepted or refused otherwise than before, or becomes another row."""


def misfit(schema: RowSchema, text: str) -> str | None:
    """Return why what was written by an Avro schema cannot become the columns; None: it can."""
    try:
        native.AvroParser(row_columns(schema), framing="plain").add_writer(GIVEN, text)
    except ValueError as error:
        return str(error)
    return None


def fingerprint(text: str) -> int:
    """Return the CRC-64-AVRO of an Avro schema, which values with framing ``singleObject`` have. Raises ValueError."""
    return native.avro_fingerprint(text)


class AvroBlocks:
    """Makes rows of the blocks of an Avro file. A block holds what an array of its rows would hold."""

    def __init__(self, columns: pa.Schema, text: str) -> None:
        """Learn what stands in the file. Raises ValueError where that cannot become the columns.

        Args:
            columns: of the rows, by their names in the file; it may have more.
            text: the schema of the file.
        """
        rows = pa.field("rows", pa.list_(pa.field("element", pa.struct([*columns]), nullable=False)), nullable=False)
        self._native = native.AvroParser(pa.schema([rows]), framing="plain")
        block = {"name": "rows", "type": {"type": "array", "items": json.loads(text)}}
        self._native.add_writer(GIVEN, json.dumps({"type": "record", "name": "block", "fields": [block]}))

    def rows(self, count: int, content: bytes) -> pa.RecordBatch:
        """Return the rows of a block. Raises ValueError where these are not so many rows of the file's schema."""
        if not 0 <= count <= len(content):
            raise ValueError(f"a block in it has {count} rows in {len(content)} bytes")
        array = written(count) + content + written(0) if count else written(0)
        found, *_ = self._native.parse(cast("Any", pa.array([array], pa.binary())))
        if found.num_rows != 1 or (not count and content):
            raise ValueError("a row in it is damaged")
        return pa.RecordBatch.from_struct_array(cast("Any", found.column(0)).flatten())


class AvroRows(ResolvedRows):
    """Each value is a header, if any, and an Avro record."""

    kind = "avro"

    def __init__(
        self, schema: RowSchema, framing: Framing, writers: Writers | None, faults: FaultsSpec = REFUSED
    ) -> None:
        """Learn no schema yet, but those of the manifest.

        Args:
            schema: the columns; and with framings without ids, schemas of writers.
            framing: what stands before records.
            writers: by which other schemas they were written; None: by no other.
            faults: what becomes of values that do not fit.
        """
        self._native = native.AvroParser(row_columns(schema), framing=framing, faults=faults.words)
        self._read = frozenset(name for one in schema.columns for name in (one.name, *one.aliases)) | {*schema.drop}
        super().__init__(self._native, framing, writers)
        for text in schema.written_by(framing):
            self.learn(GIVEN if framing == "plain" else fingerprint(text), text)

    def _add(self, writer_id: int, text: str) -> str:
        try:
            self._native.add_writer(writer_id, text)
        except ValueError as error:
            return f"{self._told(writer_id)} cannot become the columns ({error})"
        tell(self._told(writer_id), unread_fields(text, self._read))
        return ""
