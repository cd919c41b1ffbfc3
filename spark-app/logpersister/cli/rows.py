"""The first rows of a Parquet object, of which only what they need is read."""

import base64
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

from logpersister.cli.shown_record import ShownRecord
from logpersister.verify.parquet import damage_as_content_error, plain

BATCH_ROWS: Final = 64
_KAFKA: Final = "kafka_"
OFFSET: Final = f"{_KAFKA}offset"
HEADERS: Final = f"{_KAFKA}headers"
_IN_QUARANTINE: Final = {"value", "reason", "field"}
"""Name of the column of offsets."""


class ParquetRows:
    """The rows of a file, in its order. Both the begin and the iteration raise `ContentError`."""

    def __init__(self, size: int, section: Callable[[int, int], bytes]) -> None:
        with damage_as_content_error():
            # No buffering ahead: it would read whole column chunks of row groups that nobody asked for.
            self._file = pq.ParquetFile(cast("IO[bytes]", _Sections(size, section)), pre_buffer=False)
            self._names = self._file.schema_arrow.names

    @property
    def keeps_offsets(self) -> bool:
        """Whether each row has its offset."""
        return OFFSET in self._names

    @property
    def keeps_headers(self) -> bool:
        """Whether each row has its headers."""
        return HEADERS in self._names

    def __iter__(self) -> Iterator[ShownRecord]:
        with damage_as_content_error():
            for batch in self._file.iter_batches(BATCH_ROWS, use_threads=False):
                columns = [readable(name, batch.column(name)) for name in self._names]
                for values in zip(*columns, strict=True):
                    yield shown(dict(zip(self._names, values, strict=True)))


def shown(row: Mapping[str, Any]) -> ShownRecord:
    """Return what is shown of a row, by its columns."""
    kafka = {name.removeprefix(_KAFKA): value for name, value in row.items() if name.startswith(_KAFKA)}
    own = {name: value for name, value in row.items() if not name.startswith(_KAFKA)}
    value = own.get("value")
    is_tombstone = value is None and own.keys() == _IN_QUARANTINE
    as_it_is = is_tombstone or (isinstance(value, bytes) and own.keys() <= _IN_QUARANTINE)
    text = value if as_it_is else json.dumps(own, default=as_text, ensure_ascii=False).encode()
    of_kafka = kafka.get("offset"), kafka.get("timestamp"), kafka.get("key"), _headers(kafka)
    return ShownRecord(text or b"", *of_kafka, is_tombstone)


def _headers(kafka: Mapping[str, Any]) -> tuple[tuple[bytes, bytes | None], ...]:
    return tuple((_bytes(one["key"]), one["value"]) for one in kafka.get("headers") or ())


def _bytes(name: Any) -> bytes:
    return name if isinstance(name, bytes) else str(name).encode()


def readable(name: str, column: "pa.Array[Any]") -> list[Any]:
    if name == f"{_KAFKA}timestamp":
        return plain(column).to_pylist()
    try:
        return column.to_pylist()
    except ValueError:  # Python's instants have no nanoseconds
        return plain(column).to_pylist()


def as_text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)


class _Sections(io.RawIOBase):
    """An object as a file that can be read anywhere."""

    def __init__(self, size: int, section: Callable[[int, int], bytes]) -> None:
        self._size, self._section, self._position = size, section, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = begin + offset
        return self._position

    def tell(self) -> int:
        return self._position

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._size, self._position + size)
        content = self._section(self._position, end) if end > self._position else b""
        self._position += len(content)
        return content
