"""What an archive of a range holds beside what records become: a row for each record, whether it is a file or a repeat.

Rows have the name of the file, in which stands a hash of its content, and not the content. So a record is compared also
where Kafka has deleted the one that it repeats. That files have their hashes, and that repeats have a record before
them with the same content, is looked at while an archive is read.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from logpersister.formats.archive.entries import Entries, Entry, hash_text
from logpersister.formats.archive.read import entries_in
from logpersister.formats.damage import ContentError
from logpersister.formats.parquet.settings import SortColumnSpec
from logpersister.ranges import Offset

AT_ONCE: Final = 1024
_COLUMNS: "Final[list[pa.Field[Any]]]" = [
    pa.field("offset", pa.int64()),
    pa.field("timestamp", pa.int64()),
    pa.field("key", pa.binary()),
    pa.field("name", pa.string()),
    pa.field("replica", pa.string()),
    pa.field("content", pa.string()),
]
_ROWS: Final = pa.schema(_COLUMNS)


@dataclass(frozen=True)
class ArchiveContent:
    """`verify.content.Content` of archives."""

    compression: str
    skips_tombstones: bool = True
    may_split_values: bool = False
    sorting: Sequence[SortColumnSpec] = ()

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        rows = map(_row, _proven(entries_in(self.compression, pieces)))
        while some := list(islice(rows, AT_ONCE)):
            yield _batch(some)

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        entries = Entries()
        return lambda batch: _batch([*map(_row, entries.of(batch))])

    def values(self, rows: pa.RecordBatch) -> None:  # noqa: ARG002  (repeats have none)
        return None

    def offsets(self, rows: pa.RecordBatch) -> list[Offset]:
        found: list[Offset] = rows.column("offset").to_numpy().tolist()
        return found


def _proven(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Pass entries through. Raises `ContentError` where a file is another one, or a repeat repeats nothing."""
    last: dict[bytes | None, str] = {}
    for one in entries:
        if one.is_repeat and last.get(one.key) != one.content:
            raise ContentError(f"it leaves out offset {one.offset}, and no file before has the same content")
        if not one.is_repeat and hash_text(hashlib.sha256(one.value).digest()) not in one.name:
            raise ContentError(f"its file {one.name} has another content than its name says")
        last[one.key] = one.content
        yield one


def _row(entry: Entry) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in _ROWS.names)


def _batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)] or [()] * len(_ROWS)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ROWS, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ROWS)
