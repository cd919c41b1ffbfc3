"""The rows of ORC files, by pyarrow.

It has instants in nanoseconds only, so it refuses files with others than those from 1677-09-21 to 2262-04-11.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import IOBase
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.dataset as ds

from logpersister.formats.damage import ContentError, damage_told
from logpersister.formats.file_rows import around


class Unclosed:
    """What pyarrow needs of a file; to close it does nothing."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self.read, self.seek, self.tell = file.read, file.seek, file.tell

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def close(self) -> None:
        """Leave it open."""


EXTENSION: Final = ".orc"
MAGIC: Final = b"ORC"
_ROWS: Final = 128
"""Rows read at once: nothing tells before how large they are."""
_BYTES: Final = 4 << 20
"""Bytes of rows handed on at once."""
_FILE: Final = "ORC file"


class FarInstantError(ContentError):
    """A file with an instant, or with damage that looks like one, that 64 bits of nanoseconds do not hold."""


def has_far_instants(rows: pa.RecordBatch) -> bool:
    """Whether rows have instants that cannot be read back."""
    try:
        for column in rows.columns:
            column.cast(_in_nanoseconds(column.type))
    except pa.ArrowInvalid:
        return True
    return False


def _in_nanoseconds(type_: Any) -> pa.DataType:
    return pa.timestamp("ns", type_.tz) if pa.types.is_timestamp(type_) else around(type_, _in_nanoseconds)


class OrcRows:
    """`formats.file_rows.FileRows` of ORC. Memory: one batch, and 64 KiB of each stream of a stripe."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        with damage_told(_FILE):
            self.schema: pa.Schema = self._fragment().physical_schema

    def batches(self, most_rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield rows as all readers do; raises `FarInstantError`, too."""
        waiting: list[pa.RecordBatch] = []
        rows = size = 0
        with _damage_told():
            for batch in self._fragment().to_batches(
                columns=None if columns is None else [*columns],
                batch_size=min(most_rows, _ROWS),
                batch_readahead=0,
                fragment_readahead=0,
                use_threads=False,
            ):
                waiting.append(batch)
                rows, size = rows + batch.num_rows, size + batch.nbytes
                if rows + _ROWS > most_rows or size >= _BYTES:
                    yield _joined(waiting)
                    waiting, rows, size = [], 0, 0
        if waiting:
            yield _joined(waiting)

    def _fragment(self) -> Any:
        self._file.seek(0)
        file: Any = pa.PythonFile(cast("IOBase", Unclosed(self._file)), mode="r")
        return ds.OrcFileFormat().make_fragment(file)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    found: pa.RecordBatch = cast("Any", pa).concat_batches(batches)  # which the stubs do not know
    return found


@contextmanager
def _damage_told() -> Iterator[None]:
    with damage_told(_FILE):
        try:
            yield
        except pa.ArrowInvalid as error:
            if "nanosecond resolution" not in str(error):
                raise
            raise FarInstantError("it has instants outside of 1677-09-21 to 2262-04-11, which cannot be read") from None
