"""What an object holds beside what records become, both as record batches of the same columns.

Objects are read by the readers of `formats`. What records become is said by the format of their revision: the rows
that its encoder would get, or the lines that it gives. Formats: docs/formats.md.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import IO, Any, Final

import pyarrow as pa

from logpersister.formats.archive.entries import Entries, Entry, hash_text
from logpersister.formats.archive.read import entries_in
from logpersister.formats.archive.write import ArchiveFormat
from logpersister.formats.avro.read import AvroRows
from logpersister.formats.avro.write import AvroFormat
from logpersister.formats.base import Encoder, ObjectIdentity
from logpersister.formats.binary import without_nulls
from logpersister.formats.binary_file import spooled
from logpersister.formats.damage import ContentError
from logpersister.formats.file_columns import KAFKA_FIELDS, Columns
from logpersister.formats.file_rows import FileRows, nullable_type
from logpersister.formats.jsonl.read import LINE_FEED, bytes_in, document
from logpersister.formats.jsonl.write import JsonLinesFormat
from logpersister.formats.kafka.write import KafkaFormat
from logpersister.formats.lines import Lines, whole_lines
from logpersister.formats.orc.instants import with_whole_seconds
from logpersister.formats.orc.read import OrcRows
from logpersister.formats.orc.write import OrcFormat
from logpersister.formats.parquet.read import ParquetRows
from logpersister.formats.parquet.settings import SortColumnSpec
from logpersister.formats.parquet.write import ParquetFormat
from logpersister.formats.sequencefile.read import SequenceRows
from logpersister.formats.sequencefile.write import SequenceFileFormat
from logpersister.formats.text.read import unescaped
from logpersister.formats.text.write import TextFormat
from logpersister.pipeline.reader.segment import Segment
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.records.schema import FIELD, REASON
from logpersister.storage.facts import ObjectFacts
from logpersister.verify.parquet_footer import require_footer
from logpersister.verify.writing import Writing

BATCH_ROWS: Final = 1024
_OFFSET: Final = KAFKA_FIELDS["offset"].name
_TOLD: Final = (REASON, FIELD)
"""Columns of quarantine that are for people, and not compared."""
_COLUMNS: Final[dict[str, pa.DataType]] = {
    "offset": pa.int64(),
    "timestamp": pa.int64(),
    "key": pa.binary(),
    "name": pa.string(),
    "replica": pa.string(),
    "content": pa.string(),
    "missed": pa.int64(),
    "missed_since": pa.int64(),
}
_ENTRIES: Final = pa.schema(_COLUMNS)


class Content(ABC):
    """How the objects of a path are read and what records become in them."""

    sorting: Sequence[SortColumnSpec] = ()
    """By what the rows of a row group are sorted, which `stored` yields at once; empty: in order of offsets."""

    @property
    def skips_tombstones(self) -> bool:
        """Whether records with a null value are left out."""
        return False

    @property
    def may_split_values(self) -> bool:
        """Whether one record may be several rows."""
        return False

    @abstractmethod
    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an object. Raises `ContentError`."""

    @abstractmethod
    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        """Return a function that gives the rows of consecutive records of one object."""

    def values(self, rows: pa.RecordBatch) -> list[bytes] | None:  # noqa: ARG002
        """Return the values of stored rows; None where they are not kept as they were. Raises `ContentError`."""
        return None

    def offsets(self, rows: pa.RecordBatch) -> list[Offset] | None:  # noqa: ARG002
        """Return the offsets of rows; None where they are not kept."""
        return None


def content_of(  # noqa: PLR0911  (one for each format)
    writing: Writing, partition: TopicPartition, path: str, facts: ObjectFacts | None = None
) -> Content:
    """Return how to read objects of a partition and a partition path; `facts`: those of the object."""
    identity = ObjectIdentity(Range(partition, 0, 1), path)  # offsets are in no row by their range
    match writing.formats.at(path):
        case ParquetFormat() as found:
            order, ids = found.order_at(path), {} if path == QUARANTINE else found.settings.own_ids

            def opened(file: IO[bytes]) -> FileRows:
                rows = ParquetRows(file)
                require_footer(rows.metadata, rows.schema, order, ids)
                return rows

            return RowContent(found.columns_at(path), identity, opened, sorting=order)
        case OrcFormat() as found:
            return RowContent(found.columns_at(path), identity, OrcRows, with_whole_seconds)
        case AvroFormat() as found:
            return RowContent(found.columns_at(path), identity, AvroRows)
        case SequenceFileFormat() as found:
            return SequenceContent(found)
        case TextFormat() as found:
            return TextContent(found, identity)
        case JsonLinesFormat() as found:
            return JsonLinesContent(found, identity)
        case ArchiveFormat() as found:
            return ArchiveContent(found.settings.compression, found.settings.file_name)
        case KafkaFormat() if facts is not None:
            return KafkaContent(facts)
        case other:
            raise AssertionError(f"no reader for {other}")


@dataclass(frozen=True)
class RowContent(Content):
    """Rows of files that have columns."""

    columns: Columns
    identity: ObjectIdentity
    opened: Callable[[IO[bytes]], FileRows]
    kept_as: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda rows: rows
    sorting: Sequence[SortColumnSpec] = ()

    @property
    def skips_tombstones(self) -> bool:
        return not self.columns.keeps_tombstones

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        with spooled(pieces) as file:
            rows = self.opened(file)
            if rows.schema.names != self.columns.schema.names:
                wanted = ", ".join(self.columns.schema.names)
                raise ContentError(f"its columns are {', '.join(rows.schema.names)}, not {wanted}")
            found = rows.groups() if self.sorting and isinstance(rows, ParquetRows) else rows.batches(BATCH_ROWS)
            yield from map(self._compared, found)

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        def expected(batch: pa.RecordBatch) -> pa.RecordBatch:
            return self._compared(self.kept_as(self.columns.rows(self.columns.kept(batch), self.identity)))

        return expected

    def values(self, rows: pa.RecordBatch) -> list[bytes] | None:
        return None if self.columns.has_rows else [one or b"" for one in rows.column("value").to_pylist()]

    def offsets(self, rows: pa.RecordBatch) -> list[Offset] | None:
        return _plain(rows, _OFFSET) if "offset" in self.columns.kafka else None

    def _compared(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        told = _TOLD if self.identity.path == QUARANTINE else ()
        fields = [field for field in self.columns.schema if field.name not in told]
        found = [_as_declared(rows.column(field.name), field) for field in fields]
        return pa.RecordBatch.from_arrays(found, names=[field.name for field in fields])


def _plain(rows: pa.RecordBatch, name: str) -> list[Any]:
    return rows.column(name).to_pylist()


def _as_declared(column: Any, field: "pa.Field[Any]") -> Any:
    wanted = nullable_type(field.type)  # files may have finer units
    try:
        return column if column.type == wanted else column.cast(wanted)
    except pa.ArrowException as error:
        raise ContentError(f"its column {field.name} holds what is no {wanted} ({error})") from None


@dataclass(frozen=True)
class SequenceContent(Content):
    """Keys and values of SequenceFiles, in either layout of keys."""

    file_format: SequenceFileFormat

    @property
    def skips_tombstones(self) -> bool:
        return self.file_format.settings.tombstones == "skip"

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        with spooled(pieces) as file:
            rows = SequenceRows(file)
            if rows.schema.names != self._names:
                raise ContentError(f"its keys have {', '.join(rows.schema.names[:-1])}")
            yield from rows.batches(BATCH_ROWS)

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        return lambda batch: without_nulls(batch.select(self._names), self.file_format.settings.tombstones)

    def values(self, rows: pa.RecordBatch) -> list[bytes] | None:
        return _plain(rows, "value")

    def offsets(self, rows: pa.RecordBatch) -> list[Offset] | None:
        return _plain(rows, "offset")

    @property
    def _names(self) -> list[str]:
        has_offsets_only = self.file_format.settings.key == "longwritable"
        return ["offset", "value"] if has_offsets_only else ["offset", "timestamp", "key", "value"]


@dataclass(frozen=True)
class TextContent(Content):
    """Lines of text. A value with the delimiter in it is several lines, on both sides of a comparison."""

    file_format: TextFormat
    identity: ObjectIdentity

    @property
    def skips_tombstones(self) -> bool:
        return self.file_format.settings.tombstones == "skip"

    @property
    def may_split_values(self) -> bool:
        return self.file_format.settings.delimiter_in_value == "keep"

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        compression = self.file_format.settings.compression
        return map(_lines, whole_lines(compression, pieces, self._delimiter))

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        plain = TextFormat(self.file_format.settings.model_copy(update={"compression": "none"}))
        lines_of = _written_lines(lambda: plain.encoder(self.identity), self._delimiter)
        return lambda batch: _lines(lines_of(batch))

    def values(self, rows: pa.RecordBatch) -> list[bytes]:
        return [*map(bytes if self.may_split_values else unescaped, _lines_in(rows))]

    @property
    def _delimiter(self) -> bytes:
        return self.file_format.settings.delimiter.encode()


@dataclass(frozen=True)
class JsonLinesContent(Content):
    """Lines of JSON."""

    file_format: JsonLinesFormat
    identity: ObjectIdentity

    @property
    def skips_tombstones(self) -> bool:
        return not self.file_format.settings.keeps_tombstones

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        found = whole_lines(self.file_format.settings.compression, pieces, LINE_FEED)
        return map(_lines, map(self._compared, found))

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        settings = self.file_format.settings.model_copy(update={"compression": "none"})
        plain = replace(self.file_format, settings=settings)
        lines_of = _written_lines(lambda: plain.encoder(self.identity), LINE_FEED)
        return lambda batch: _lines(self._compared(lines_of(batch)))

    def values(self, rows: pa.RecordBatch) -> list[bytes] | None:
        documents = [*map(document, _lines_in(rows))]
        written = self.file_format
        if not self._is_quarantine and (written.schema is not None or written.values_are_json):
            return None
        return [bytes_in(one, "value") or b"" for one in documents]

    def offsets(self, rows: pa.RecordBatch) -> list[Offset] | None:
        if not self._is_quarantine and "offset" not in self.file_format.kafka_columns:
            return None
        try:
            return [int(document(line)[_OFFSET]) for line in _lines_in(rows)]
        except (LookupError, TypeError, ValueError):
            raise ContentError("a line in it has no offset") from None

    def _compared(self, lines: list[bytes]) -> list[bytes]:
        return [*map(_without_reason, lines)] if self._is_quarantine else lines

    @property
    def _is_quarantine(self) -> bool:
        return self.identity.path == QUARANTINE


@dataclass(frozen=True)
class KafkaContent(Content):
    """Record batches, of which only the records of the range count; the checksum of facts is not of values."""

    facts: ObjectFacts

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        segment = Segment(pieces, self.facts.first, self.facts.range.end)
        yield from segment.batches()
        if segment.checksum != self.facts.checksum:
            raise ContentError("its record batches do not have the checksum of its facts")

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        return lambda batch: batch

    def offsets(self, rows: pa.RecordBatch) -> list[Offset] | None:
        return _plain(rows, "offset")


@dataclass(frozen=True)
class ArchiveContent(Content):
    """A row for each record of an archive, whether it is a file or a repeat.

    Rows have the name of the file, in which stands a hash of its content, and not the content. So a record is compared
    also where Kafka has deleted the one that it repeats. That files have their hashes, and that repeats have a record
    before them with the same content, is looked at while an archive is read.
    """

    compression: str
    file_name: str

    @property
    def skips_tombstones(self) -> bool:
        return True

    def stored(self, pieces: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        rows = map(_entry_row, _proven(entries_in(self.compression, pieces)))
        while some := list(islice(rows, BATCH_ROWS)):
            yield _entry_batch(some)

    def expectation(self) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        entries = Entries(self.file_name)
        return lambda batch: _entry_batch([*map(_entry_row, entries.of(batch))])

    def offsets(self, rows: pa.RecordBatch) -> list[Offset] | None:
        return _plain(rows, "offset")


def _written_lines(encoder: Callable[[], Encoder], delimiter: bytes) -> Callable[[pa.RecordBatch], list[bytes]]:
    """Return a function that gives the lines of records; an encoder for each batch, as one may hold lines back."""

    def lines_of(batch: pa.RecordBatch) -> list[bytes]:
        made = encoder()
        written = b"".join(map(bytes, made.encode(batch)))
        return Lines(delimiter).of(written + b"".join(map(bytes, made.finish())))

    return lines_of


def _lines(lines: list[bytes]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(lines, pa.binary())], names=["line"])


def _lines_in(rows: pa.RecordBatch) -> list[bytes]:
    found: list[Any] = rows.column(0).to_pylist()
    return found


def _without_reason(line: bytes) -> bytes:
    return json.dumps({name: one for name, one in document(line).items() if name not in _TOLD}).encode()


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


def _entry_row(entry: Entry) -> tuple[Any, ...]:
    return tuple(getattr(entry, name) for name in _ENTRIES.names)


def _entry_batch(rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = [*zip(*rows, strict=True)] or [()] * len(_ENTRIES)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, _ENTRIES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=_ENTRIES)
