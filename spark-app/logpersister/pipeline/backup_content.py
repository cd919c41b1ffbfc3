"""Reads the records of an object of a backup back as the reader of Kafka gave them, whatever format it has.

Record batches have checksums and offsets of their own, so a part of such an object can be read. Of other formats the
whole object is read, and must have the records that its facts tell: nothing else shows that a line is a record.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, get_args

import numpy as np
import pyarrow as pa

from logpersister.backup.ranges import BackupObject, Piece
from logpersister.formats.binary_file import spooled
from logpersister.formats.compression import EXTENSIONS, Compression
from logpersister.formats.damage import ContentError
from logpersister.formats.jsonl.read import LINE_FEED, batches_of
from logpersister.formats.lines import whole_lines
from logpersister.formats.sequencefile import read as sequencefile
from logpersister.formats.text.read import unescaped
from logpersister.formats.text.settings import TextSpec
from logpersister.pipeline.reader.segment import Segment
from logpersister.pipeline.summary import Summary
from logpersister.records.schema import HEADERS, RECORDS, RECORDS_WITH_HEADERS

MOST_ROWS: Final = 8192
_LINES: Final = {ending + EXTENSIONS[how]: how for ending in (".jsonl", ".txt") for how in get_args(Compression)}
"""Compression of objects of lines, by the ends of their names."""
_CHECKED: Final = (sequencefile.EXTENSION, *_LINES)
_VALUES: Final = pa.schema([RECORDS.field("offset"), RECORDS.field("value")])


def records_of(piece: Piece, content: Iterable[bytes], text: TextSpec, *, headers: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records of a piece, in columns of `records.schema`.

    Args:
        text: how lines of text are to be understood.
        headers: whether they are wanted; records of formats without them have none.

    Raises `ContentError` where the object is damaged; at its end, where its records are not those of its facts.
    """
    found = _checked(piece, content, text) if piece.object.key.endswith(_CHECKED) else _verbatim(piece, content)
    for batch in found:
        offsets = batch.column("offset").to_numpy()
        first, behind = (int(place) for place in offsets.searchsorted([piece.range.start, piece.range.end]))
        if first < behind:
            wanted = batch.slice(first, behind - first)
            yield _with_headers(wanted) if headers else wanted.select(RECORDS.names)


def _verbatim(piece: Piece, content: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
    """Yield records up to the first batch that has some behind the piece."""
    records = 0
    for batch in Segment(content, piece.range.start, piece.object.range.end).batches():
        yield batch
        records += batch.num_rows
        if batch.column("offset")[-1].as_py() >= piece.range.end:
            return
    if piece.is_whole and records != piece.object.records:
        raise ContentError(f"it has {records} records of {piece.range}, and its facts say {piece.object.records}")


def _checked(piece: Piece, content: Iterable[bytes], text: TextSpec) -> Iterator[pa.RecordBatch]:
    """Yield all records of an object. Raises `ContentError` at the end, when they are not those of its facts."""
    kept, summary = piece.object, Summary()
    keeps_keys, before = False, -1
    for batch in _rows(kept, content, text):
        keeps_keys = batch.num_columns > len(_VALUES)
        rows = batch if keeps_keys else _with_values_alone(batch)
        offsets = rows.column("offset").to_numpy()
        if offsets[0] <= before or (np.diff(offsets) <= 0).any():
            raise ContentError("the offsets of its records do not rise")
        before = int(offsets[-1])
        summary.update(rows)
        yield rows
    found = summary.facts()
    told = {"first": str(kept.first), "last": str(kept.last), "records": str(kept.records), "checksum": kept.checksum}
    if not keeps_keys:
        found["checksum"], told["checksum"] = _of_values(found["checksum"]), _of_values(told["checksum"])
    for name, value in told.items():
        if found[name] != value:
            raise ContentError(
                f"{name} of its records is {found[name]}, and its facts say {value}: it was changed, or written by "
                "other settings than spec.output of the backup has now"
            )


def _rows(kept: BackupObject, content: Iterable[bytes], text: TextSpec) -> Iterator[pa.RecordBatch]:
    """Yield records with all columns, or with offset and value alone."""
    if kept.key.endswith(sequencefile.EXTENSION):
        with spooled(content) as file:
            yield from sequencefile.SequenceRows(file).batches(MOST_ROWS)
        return
    ending, compression = next((ending, how) for ending, how in _LINES.items() if kept.key.endswith(ending))
    if ending.startswith(".jsonl"):
        yield from batches_of(chain.from_iterable(whole_lines(compression, content, LINE_FEED)), MOST_ROWS)
        return
    offset = kept.first
    for lines in filter(None, whole_lines(compression, content, text.delimiter.encode())):
        values = [*map(unescaped, lines)] if text.delimiter_in_value == "escape" else lines
        columns: list[pa.Array[Any]] = [pa.array(range(offset, offset + len(values)), pa.int64())]
        yield pa.RecordBatch.from_arrays([*columns, pa.array(values, pa.binary())], schema=_VALUES)
        offset += len(values)


def _with_values_alone(batch: pa.RecordBatch) -> pa.RecordBatch:
    times, keys = pa.array([-1] * batch.num_rows, pa.int64()), pa.nulls(batch.num_rows, pa.binary())
    return pa.RecordBatch.from_arrays([batch.column("offset"), times, keys, batch.column("value")], schema=RECORDS)


def _with_headers(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_columns == len(RECORDS_WITH_HEADERS):
        return batch
    headers = pa.array([[]] * batch.num_rows, HEADERS)
    return pa.RecordBatch.from_arrays([*batch.columns, headers], schema=RECORDS_WITH_HEADERS)


def _of_values(checksum: str) -> str:
    """Return what a checksum says of values."""
    return "-".join(checksum.split("-")[:2])
