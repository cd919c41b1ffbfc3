# Types of src/python.rs, which says what each of these is.

from collections.abc import Sequence
from typing import Literal, final

import pyarrow as pa

class CorruptBatchError(Exception):
    args: tuple[int, str]

REASONS: tuple[str, ...]

@final
class RowParser:
    def __new__(cls, schema: pa.Schema, *, unknown_fields: Literal["drop", "refuse"]) -> RowParser: ...
    def parse(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, pa.UInt8Array, pa.StringArray]: ...

@final
class AvroParser:
    def __new__(
        cls, schema: pa.Schema, *, framing: Literal["plain", "single-object", "confluent", "apicurio", "glue"]
    ) -> AvroParser: ...
    def add_writer(self, writer_id: int, schema: str) -> None: ...
    def refuse_writer(self, writer_id: int) -> None: ...
    def parse(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, pa.UInt8Array, pa.StringArray, list[int]]: ...

@final
class Run:
    @property
    def batch(self) -> pa.RecordBatch: ...
    @property
    def next_offset(self) -> int: ...
    @property
    def record_batches(self) -> int: ...
    @property
    def bytes_used(self) -> int: ...
    @property
    def cut_off_bytes(self) -> int | None: ...
    @property
    def legacy(self) -> list[tuple[int, int, int]]: ...

def decode(
    data: bytes,
    start: int,
    end: int,
    *,
    aborted: Sequence[tuple[int, int]],
    headers: bool,
    keys: bool,
    max_bytes: int,
    max_batch_bytes: int,
) -> Run: ...
def avro_fingerprint(schema: str) -> int: ...
def not_json(values: pa.BinaryArray) -> tuple[pa.Int64Array, str | None]: ...
def decompress(codec: int, data: bytes, *, limit: int) -> bytes: ...
