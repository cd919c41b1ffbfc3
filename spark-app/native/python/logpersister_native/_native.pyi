# Types of src/python.rs, which says what each of these is.

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, final

import pyarrow as pa

Framing: TypeAlias = Literal["plain", "singleObject", "confluent", "apicurio", "glue"]

class CorruptBatchError(Exception):
    args: tuple[int, str]

REASONS: tuple[str, ...]

_Rows: TypeAlias = tuple[
    pa.RecordBatch, pa.UInt8Array, pa.StringArray, tuple[Sequence[tuple[int, str]], pa.Int64Array, pa.Int32Array]
]
_Resolved: TypeAlias = tuple[
    pa.RecordBatch,
    pa.UInt8Array,
    pa.StringArray,
    tuple[Sequence[tuple[int, str]], pa.Int64Array, pa.Int32Array],
    list[int],
]
_Faults: TypeAlias = Mapping[str, str] | None

@final
class RowParser:
    def __new__(
        cls,
        schema: pa.Schema,
        *,
        unknown_fields: Literal["drop", "keep", "refuse"],
        faults: _Faults = None,
        framing: Framing = "plain",
    ) -> RowParser: ...
    def parse(self, values: pa.BinaryArray) -> _Rows: ...

@final
class MessagePackParser:
    def __new__(
        cls, schema: pa.Schema, *, unknown_fields: Literal["drop", "keep", "refuse"], faults: _Faults = None
    ) -> MessagePackParser: ...
    def parse(self, values: pa.BinaryArray) -> _Rows: ...

@final
class ThriftParser:
    def __new__(
        cls, schema: pa.Schema, *, plan: str, protocol: Literal["binary", "compact"], faults: _Faults = None
    ) -> ThriftParser: ...
    def parse(self, values: pa.BinaryArray) -> _Rows: ...

@final
class CsvParser:
    def __new__(
        cls,
        schema: pa.Schema,
        *,
        names: Sequence[str],
        delimiter: str,
        quote: str,
        escape: str,
        null: str,
        unknown_fields: Literal["drop", "keep"] = "drop",
        faults: _Faults = None,
    ) -> CsvParser: ...
    def parse(self, values: pa.BinaryArray) -> _Rows: ...

@final
class RegexParser:
    def __new__(cls, schema: pa.Schema, *, pattern: str, null: str | None, faults: _Faults = None) -> RegexParser: ...
    def parse(self, values: pa.BinaryArray) -> _Rows: ...

@final
class AvroParser:
    def __new__(cls, schema: pa.Schema, *, framing: Framing, faults: _Faults = None) -> AvroParser: ...
    def add_writer(self, writer_id: int, schema: str) -> None: ...
    def refuse_writer(self, writer_id: int) -> None: ...
    def parse(self, values: pa.BinaryArray) -> _Resolved: ...

@final
class ProtobufParser:
    def __new__(
        cls, schema: pa.Schema, *, framing: Framing, message: str | None = None, faults: _Faults = None
    ) -> ProtobufParser: ...
    def add_writer(self, writer_id: int, schema: str) -> None: ...
    def refuse_writer(self, writer_id: int) -> None: ...
    def problem(self, value: bytes) -> str | None: ...
    def parse(self, values: pa.BinaryArray) -> _Resolved: ...

@final
class MessageParts:
    def __new__(cls, *, framing: Framing, plan: str | None = None) -> MessageParts: ...
    def add_writer(self, writer_id: int, schema: str, plans: str) -> None: ...
    def types(self, values: pa.BinaryArray) -> tuple[list[bytes], pa.Int32Array, list[int]]: ...
    def bodies(self, values: pa.BinaryArray) -> pa.BinaryArray: ...

@final
class ParquetWriter:
    def __new__(
        cls,
        schema: pa.Schema,
        *,
        compression: str,
        zstd_level: int,
        row_group_bytes: int,
        page_bytes: int,
        page_index: bool,
        without_dictionary: Sequence[str],
        bloom_filters: Mapping[str, int],
        sorted_by: Sequence[tuple[str, bool, bool]],
    ) -> ParquetWriter: ...
    def write(self, rows: pa.RecordBatch, sizes: pa.Int64Array) -> bytes: ...
    def finish(self) -> bytes: ...

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

@final
class Selected:
    @property
    def kept(self) -> list[tuple[int, int]]: ...
    @property
    def legacy(self) -> list[tuple[int, int]]: ...
    @property
    def heads(self) -> bytes: ...
    @property
    def records(self) -> int: ...
    @property
    def offsets(self) -> tuple[int, int] | None: ...
    @property
    def next_offset(self) -> int: ...

def select(
    data: pa.BinaryArray, start: int, end: int, *, aborted: Sequence[tuple[int, int]], max_batch_bytes: int
) -> Selected: ...
def decode(
    data: pa.BinaryArray,
    start: int,
    end: int,
    *,
    aborted: Sequence[tuple[int, int]],
    headers: bool,
    keys: bool,
    max_bytes: int,
    max_batch_bytes: int,
) -> Run: ...
def avro_datums(rows: pa.RecordBatch) -> tuple[bytes, pa.Int64Array]: ...
def avro_fingerprint(schema: str) -> int: ...
def json_lines(rows: pa.RecordBatch) -> bytes: ...
def json_texts(values: pa.BinaryArray, path: Sequence[str], *, framing: Framing = "plain") -> pa.BinaryArray: ...
def numbers(values: pa.BinaryArray, *, at: int, width: int) -> pa.Int64Array: ...
def parts(values: pa.BinaryArray, begins: pa.Int64Array, ends: pa.Int64Array) -> pa.BinaryArray: ...
def schema_keys(
    values: pa.BinaryArray,
    *,
    framing: Framing,
    inside: Literal["nothing", "messages", "branches"],
) -> tuple[list[tuple[int, list[int], str]], pa.Int32Array]: ...
def instants(texts: pa.StringArray, notation: str) -> pa.Int64Array: ...
def keyed_hashes(texts: pa.StringArray, key: bytes) -> pa.StringArray: ...
def not_json(values: pa.BinaryArray) -> tuple[pa.Int64Array, str | None]: ...
def crc32c(data: bytes) -> int: ...
def decompress(codec: int, data: bytes, *, limit: int) -> bytes: ...
