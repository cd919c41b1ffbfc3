"""The first records of an object, in whatever format it is; what cannot be trusted in it is bounded."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import IO, Final, cast

from logpersister.cli.rows import HEADERS, OFFSET, ShownRecord, shown_rows
from logpersister.formats.archive.read import entries_in
from logpersister.formats.avro.container import MAGIC as _AVRO
from logpersister.formats.avro.read import AvroRows
from logpersister.formats.damage import ContentError
from logpersister.formats.file_rows import FileRows
from logpersister.formats.kafka.write import EXTENSION
from logpersister.formats.lines import Lines, decompressed
from logpersister.formats.orc import read as orc_read
from logpersister.formats.orc.read import OrcRows
from logpersister.formats.parquet.read import ParquetRows
from logpersister.formats.sequencefile.read import SequenceRows
from logpersister.formats.text.read import unescaped
from logpersister.formats.text.settings import TextSpec
from logpersister.manifest.revisions.revision import RevisionError, resource_of
from logpersister.manifest.spec import Spec
from logpersister.pipeline.reader.segment import LAST, Segment
from logpersister.records.escaping import QUARANTINE
from logpersister.records.type_names import names_of
from logpersister.report.human import size
from logpersister.storage import names
from logpersister.storage.errors import StorageError
from logpersister.storage.peek import Peeked
from logpersister.storage.sections import Sections
from logpersister.storage.store import ObjectStore

MOST_BYTES: Final = 64 << 20
"""Most bytes of one record; bounds lengths in a file, and what a compressed stream becomes."""
_AT_ONCE: Final = 512
"""Compressed bytes that become one piece: at most a few MiB of it, however well they are compressed."""
_MAGIC: Final = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SEQUENCEFILE: Final = b"SEQ"
_PARQUET: Final = b"PAR1"
INSIDE: Final = "inside"


@dataclass(frozen=True, slots=True)
class Preview:
    """An object that is read."""

    format: str
    compression: str
    """Compression of the whole object; SequenceFiles, Parquet, ORC and Avro compress inside."""
    records: Iterator[ShownRecord]
    """Raises ContentError where the object is damaged."""
    note: str = ""
    """What the reader should know of how it was read."""
    keeps_offsets: bool = False
    keeps_headers: bool = False


def preview(store: ObjectStore, key: str, peeked: Peeked) -> Preview:  # noqa: PLR0911  (one for each format)
    """Return how the object begins, read as its own revision says, else as its first bytes look."""
    spec, note = _written(store, key, peeked)
    keeps_all = spec is not None and spec.keeps_all_in_quarantine and f"/{QUARANTINE}/" in key
    spec = None if spec is None else _of_type(spec, key)
    output = None if spec is None else spec.output
    first = next(peeked.pieces, b"")
    bound = _Bound([first], peeked.pieces)
    looks = next((name for magic, name in _MAGIC.items() if first.startswith(magic)), "none")
    file = Sections(peeked.size, peeked.section, first)
    if first.startswith(_PARQUET) if output is None else output.format == "parquet" or keeps_all:
        return _rows("parquet", ParquetRows(cast("IO[bytes]", file), reads_ahead=False), note)
    if first.startswith(orc_read.MAGIC) if output is None else output.format == "orc":
        return _rows("orc", OrcRows(cast("IO[bytes]", file)), note)
    if first.startswith(_AVRO) if output is None else output.format == "avro":
        return _rows("avro", AvroRows(cast("IO[bytes]", file.buffered()), MOST_BYTES), note)
    looks_so = looks == "none" and first.startswith(_SEQUENCEFILE)
    if looks_so if output is None else output.format == "sequencefile":
        rows = SequenceRows(cast("IO[bytes]", file.buffered()), MOST_BYTES)
        return Preview("sequencefile", INSIDE, _sequences(rows), note, keeps_offsets=True)
    if output is not None and output.format == "archive" and f"/{QUARANTINE}/" not in key:
        records = _archived(output.compression, chain([first], peeked.pieces))
        return Preview("archive", output.compression, records, note, keeps_offsets=True)
    if key.endswith(EXTENSION) if output is None else output.format == "kafka":
        segment = Segment(chain([first], peeked.pieces), *_range(peeked.metadata), MOST_BYTES)
        return Preview("kafka", INSIDE, _batches(segment), note, keeps_offsets=True, keeps_headers=True)
    if spec is not None and spec.output.format == "jsonl":
        lines = _lines(bound, spec.output.compression, TextSpec())
        records = (ShownRecord(one.value, _offset(one.value)) for one in lines)
        kafka = spec.output.columns_of_kafka(has_schema=spec.row_schema.has_columns)
        keeps_offsets = "offset" in kafka or f"/{QUARANTINE}/" in key
        return Preview("jsonl", spec.output.compression, records, note, keeps_offsets=keeps_offsets)
    text, compression = (TextSpec(), looks) if output is None else (output.text or TextSpec(), str(output.compression))
    return Preview("text", compression, _lines(bound, compression, text), note)


def _of_type(spec: Spec, key: str) -> Spec:
    """Return how the objects of a type are written that stand where this one does."""
    names_of_types = names_of(spec.types)
    rules = (names_of_types.rule_at(segment) for segment in key.split("/")[:-1])
    rule = next((one for one in rules if one is not None), None)
    return spec if rule is None else spec.of_types()[rule]


class _Bound:
    """Pieces of an object, until too many bytes have come for one record."""

    def __init__(self, *pieces: Iterable[bytes]) -> None:
        self._pieces = pieces
        self._since = 0

    def record(self) -> None:
        """Take note that a record was whole."""
        self._since = 0

    def of(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Pass the pieces through. Raises `ContentError`."""
        for piece in pieces:
            self._since += len(piece)
            if self._since > MOST_BYTES:
                raise ContentError(f"a record in it has more than {size(MOST_BYTES)}, or a length in it is wrong")
            yield piece

    def __iter__(self) -> Iterator[bytes]:
        for pieces in self._pieces:
            yield from pieces


def _rows(name: str, rows: FileRows, note: str) -> Preview:
    has_offsets, has_headers = OFFSET in rows.schema.names, HEADERS in rows.schema.names
    return Preview(name, INSIDE, shown_rows(rows), note, keeps_offsets=has_offsets, keeps_headers=has_headers)


def _sequences(rows: SequenceRows) -> Iterator[ShownRecord]:
    for batch in rows.batches(most_rows=1):
        for row in batch.to_pylist():
            yield ShownRecord(**row)


def _archived(compression: str, pieces: Iterable[bytes]) -> Iterator[ShownRecord]:
    for entry in entries_in(compression, pieces, MOST_BYTES, _AT_ONCE):
        if not entry.is_repeat:
            yield ShownRecord(bytes(entry.value), entry.offset, entry.timestamp, entry.key)


def _range(metadata: Mapping[str, str]) -> tuple[int, int]:
    """Return the offsets that an object says it has; all of them where it says nothing."""

    def number(name: str, default: int) -> int:
        text = metadata.get(name, "")
        return int(text) if text.isascii() and text.isdecimal() else default

    start = number("read-from", number("start", 0))
    return start, max(start + 1, number("end", LAST))


def _batches(segment: Segment) -> Iterator[ShownRecord]:
    for batch in segment.batches():
        for row in batch.to_pylist():
            headers = tuple((one["key"], one["value"]) for one in row["headers"])
            value, is_tombstone = row["value"] or b"", row["value"] is None
            yield ShownRecord(value, row["offset"], row["timestamp"], row["key"], headers, is_tombstone)


def _offset(line: bytes) -> int | None:
    """Return what a line says; it is shown as it is, also when it says nothing."""
    try:
        found = json.loads(line)["kafka_offset"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return found if type(found) is int else None


def _lines(bound: _Bound, compression: str, text: TextSpec) -> Iterator[ShownRecord]:
    lines = Lines(text.delimiter.encode())
    value_of = unescaped if text.delimiter_in_value == "escape" else bytes
    for piece in bound.of(decompressed(compression, bound, _AT_ONCE)):
        for line in lines.of(piece):
            bound.record()
            yield ShownRecord(value_of(line))
    if lines.rest:  # somebody else's object, whose last line does not end
        yield ShownRecord(value_of(lines.rest))


def _written(store: ObjectStore, key: str, peeked: Peeked) -> tuple[Spec | None, str]:
    """Return the spec of the revision that has written the object; None, and perhaps why, when that is not known."""
    metadata = peeked.metadata
    topic, group = metadata.get("topic"), metadata.get("group")
    revision = metadata.get("rules") or metadata.get("revision")
    if not (topic and group and revision):
        return None, "not written by logpersister: read as its first bytes look"
    why = "is not in the bucket"
    for prefix in _prefixes(store.prefix, key, topic):
        try:
            snapshot = store.get_json(names.revision_key(prefix, group, revision))
            if snapshot is not None:
                return resource_of(snapshot).spec, ""
        except (StorageError, RevisionError, ValueError) as error:
            why = f"cannot be read ({error})"
    return None, f"the snapshot of its revision {revision} {why}: read as its first bytes look"


def _prefixes(own: str, key: str, topic: str) -> Iterator[str]:
    folders = key.split("/")[:-1]
    candidates = [own, *("/".join(folders[:count]) for count in range(len(folders)))]
    for prefix in dict.fromkeys(candidates):
        parsed = names.parse_object_key(prefix, key)
        if parsed is not None and parsed.topic == topic:
            yield prefix
