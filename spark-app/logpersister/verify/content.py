"""What an object holds, as items that can be compared with records: read here without the code that wrote it.

An *item* is what one record becomes: a line of text, key and value of a SequenceFile, or a row.
Formats: docs/formats.md.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self

import pyarrow as pa

from logpersister.manifest.format_settings import (
    AvroSpec,
    JsonLinesSpec,
    OrcSpec,
    ParquetSpec,
    SequenceFileSpec,
    TextSpec,
)
from logpersister.manifest.output import COLUMNAR
from logpersister.ranges import Offset, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.verify.avro_file import AvroContent
from logpersister.verify.jsonl import JsonLinesContent
from logpersister.verify.lines import Lines, decompressed
from logpersister.verify.orc import OrcContent
from logpersister.verify.parquet import ParquetContent
from logpersister.verify.row_items import RowItems
from logpersister.verify.row_sorting import RowSorting
from logpersister.verify.sequences import SequenceItem, read_items
from logpersister.verify.streams import ContentError
from logpersister.verify.writing import Writing

Item = bytes | SequenceItem
Items = Sequence[Any]
"""Of one kind, in the order of offsets (but see `Content.sorting`)."""

_ALL_COLUMNS: Final = ("topic", "partition", "offset", "timestamp", "key", "headers")
_ESCAPE: Final = re.compile(rb"\\(\\|n|r|t|x[0-9a-f]{2}|)", re.DOTALL)
_UNESCAPED: Final = {b"\\": b"\\", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ESCAPED: Final = {byte[0]: b"\\" + letter for letter, byte in _UNESCAPED.items()}


class Content(Protocol):
    """How the objects of a revision are read."""

    @property
    def skips_tombstones(self) -> bool:
        """Whether records with a null value are left out."""

    @property
    def may_split_values(self) -> bool:
        """Whether one record may be several items."""

    @property
    def sorting(self) -> RowSorting | None:
        """How the rows of a row group are sorted, which `stored` yields at once; None: they are in order of offsets."""

    def stored(self, pieces: Iterable[bytes]) -> Iterator[Items]:
        """Yield the items of an object. Raises `ContentError`."""

    def expectation(self) -> Callable[[pa.RecordBatch], Items]:
        """Return a function that gives the items of consecutive records of one object."""

    def values(self, items: Items) -> list[bytes] | None:
        """Return the values of stored items; None where they are not kept as they were."""

    def offsets(self, items: Items) -> list[Offset] | None:
        """Return the offsets of stored items; None where they are not kept."""


def content_of(writing: Writing, partition: TopicPartition, path: str) -> Content:
    """Return how to read objects of a partition and a partition path."""
    if path == QUARANTINE and writing.keeps_all_in_quarantine:
        return ParquetContent(_all_of(partition))
    writing = writing.at(path)
    output = writing.output
    if output.format in COLUMNAR:
        return _columnar(writing, partition, in_quarantine=path == QUARANTINE)
    if output.format == "text":
        return TextContent.of(output.text or TextSpec(), output.compression)
    sequences = output.sequencefile or SequenceFileSpec()
    return SequenceContent(
        has_offsets_only=sequences.key == "longwritable", skips_tombstones=sequences.tombstones == "skip"
    )


def _all_of(partition: TopicPartition) -> RowItems:
    return RowItems(partition, in_quarantine=True, kafka_columns=_ALL_COLUMNS, skips_tombstones=False, oracle=None)


def _columnar(writing: Writing, partition: TopicPartition, *, in_quarantine: bool) -> Content:
    output = writing.output
    oracle = None if in_quarantine else writing.oracle
    if output.format in _ROWS:
        default, content = _ROWS[output.format]
        settings = output.parquet or output.avro or output.orc or default
        skips = settings.tombstones == "skip"
        items = RowItems(partition, in_quarantine, settings.kafka_columns, skips, oracle)
        if output.parquet is not None and not in_quarantine:
            return ParquetContent.of(items, output.parquet)
        return content(items)
    jsonl = output.jsonl or JsonLinesSpec()
    kafka = jsonl.columns_of_kafka(has_schema=writing.schema is not None)
    is_json = writing.parser.type == "json" and oracle is None and not in_quarantine
    items = RowItems(partition, in_quarantine, kafka, jsonl.tombstones == "skip", oracle, is_json)
    return JsonLinesContent(items, output.compression)


_ROWS: Final[Mapping[str, tuple[ParquetSpec | AvroSpec | OrcSpec, Callable[[RowItems], Content]]]] = {
    "parquet": (ParquetSpec(), ParquetContent),
    "avro": (AvroSpec(), AvroContent),
    "orc": (OrcSpec(), OrcContent),
}
"""Of formats whose files have columns inside: the default settings, and their reader."""


@dataclass(frozen=True)
class TextContent:
    """Lines. A value with the delimiter in it is several lines, on both sides of a comparison."""

    compression: str
    delimiter: bytes
    escapes: bool
    skips_tombstones: bool
    sorting: None = None

    @classmethod
    def of(cls, text: TextSpec, compression: str) -> Self:
        """Return how to read what these settings write."""
        return cls(
            compression,
            text.delimiter.encode(),
            escapes=text.delimiter_in_value == "escape",
            skips_tombstones=text.tombstones == "skip",
        )

    @property
    def may_split_values(self) -> bool:
        return not self.escapes

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[bytes]]:
        lines = Lines(self.delimiter)
        for piece in decompressed(self.compression, pieces):
            yield lines.of(piece)
        if lines.rest:
            raise ContentError(f"it does not end with the delimiter, but with {lines.rest[-40:]!r}")

    def expectation(self) -> Callable[[pa.RecordBatch], list[bytes]]:
        lines = Lines(self.delimiter)

        def expected(batch: pa.RecordBatch) -> list[bytes]:
            values = _values(batch, skips_tombstones=self.skips_tombstones)
            if self.escapes:
                values = [self._escaped(value) for value in values]
            return lines.of(self.delimiter.join([*values, b""]))

        return expected

    def offsets(self, items: Items) -> None:  # noqa: ARG002  (a line says nothing of its record)
        return None

    def values(self, items: Items) -> list[bytes]:
        return [_ESCAPE.sub(_unescape, line) if b"\\" in line else line for line in items] if self.escapes else [*items]

    def _escaped(self, value: bytes) -> bytes:
        for byte in (b"\\"[0], *sorted(set(self.delimiter))):
            value = value.replace(bytes([byte]), _ESCAPED.get(byte, b"\\x%02x" % byte))
        return value


@dataclass(frozen=True)
class SequenceContent:
    """Keys and values of SequenceFiles, in either layout; which one it is stands in the file."""

    has_offsets_only: bool
    """Whether a key is the offset alone, or also timestamp and key."""
    skips_tombstones: bool
    may_split_values: bool = False
    sorting: None = None

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[SequenceItem]]:
        return read_items(pieces, offsets_only=self.has_offsets_only)

    def expectation(self) -> Callable[[pa.RecordBatch], list[SequenceItem]]:
        def expected(batch: pa.RecordBatch) -> list[SequenceItem]:
            kept = batch.filter(batch.column("value").is_valid()) if self.skips_tombstones else batch
            values = _values(kept, skips_tombstones=False)
            offsets: list[Any] = kept.column("offset").to_pylist()
            if self.has_offsets_only:
                return [(offset, None, None, value) for offset, value in zip(offsets, values, strict=True)]
            others: list[list[Any]] = [kept.column("timestamp").to_pylist(), kept.column("key").to_pylist()]
            return list(zip(offsets, *others, values, strict=True))

        return expected

    def values(self, items: Items) -> list[bytes]:
        return [item[3] for item in items]

    def offsets(self, items: Items) -> list[Offset]:
        return [item[0] for item in items]


def _values(batch: pa.RecordBatch, *, skips_tombstones: bool) -> list[bytes]:
    values: list[bytes | None] = batch.column("value").to_pylist()
    if batch.column("value").null_count == 0:
        return values  # type: ignore[return-value]
    return [value or b"" for value in values if value is not None or not skips_tombstones]


def _unescape(found: "re.Match[bytes]") -> bytes:
    escape = found.group(1)
    if escape[:1] == b"x":
        return bytes([int(escape[1:], 16)])
    if escape not in _UNESCAPED:
        raise ContentError("a backslash in it escapes nothing")
    return _UNESCAPED[escape]
