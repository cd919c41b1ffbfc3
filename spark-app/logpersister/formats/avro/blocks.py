"""Rows of the blocks of Avro container files, by the native parser of Avro's values."""

import json
from typing import Any, cast

import pyarrow as pa

import logpersister_native as native
from logpersister.formats.avro.numbers import written
from logpersister.values.reading.resolved_rows import GIVEN


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
