"""Format ``text``: each record's value and a delimiter. Keys, headers, timestamps and offsets are not kept.

`docs/formats.md` says what becomes of null values and of values that contain the delimiter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

from logpersister.formats import binary
from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.compression import Compression, Compressor, compressor
from logpersister.formats.tombstones import Tombstones

RULES: Final = 1
"""Raise it when an object gets another extension, or a record becomes other bytes before they are compressed."""

_BACKSLASH: Final = 0x5C
_NAMED_ESCAPES: Final = {0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}
_CONTENT_TYPES: Final = {
    Compression.NONE: "text/plain",
    Compression.GZIP: "application/gzip",
    Compression.ZSTD: "application/zstd",
}


class DelimiterInValue(StrEnum):
    """What becomes of a value that contains (a byte of) the delimiter."""

    KEEP = "keep"
    """Nothing: values are written byte for byte, and a reader finds more lines than records."""

    ESCAPE = "escape"
    r"""Backslashes and all bytes of the delimiter are written as in C: ``\\``, ``\n``, ``\r``, ``\t``, else ``\xHH``.
    A line is a record, and a reader can restore the value."""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The settings of the format; raises `ValueError` for those that contradict each other."""

    compression: Compression = Compression.NONE
    delimiter: bytes = b"\n"
    tombstones: Tombstones = Tombstones.SKIP
    delimiter_in_value: DelimiterInValue = DelimiterInValue.KEEP

    def __post_init__(self) -> None:
        if not self.delimiter:
            raise ValueError("the delimiter is empty; write at least one character, for example a newline")
        if self.delimiter_in_value is DelimiterInValue.ESCAPE and any(
            byte == _BACKSLASH or (byte < 0x80 and chr(byte).isalnum()) for byte in self.delimiter
        ):
            raise ValueError(
                f"the delimiter {self.delimiter!r} has a letter, digit or backslash, which escapes themselves contain; "
                "choose another delimiter, or delimiterInValue: keep"
            )


@dataclass(frozen=True, slots=True)
class TextFormat:
    """`formats.base.Format` for text."""

    options: TextOptions

    wants_headers = False
    held_back = 1 << 20  # the state of a compressor, and a chunk

    @property
    def extension(self) -> str:
        return ".txt" + self.options.compression.extension

    @property
    def content_type(self) -> str:
        return _CONTENT_TYPES[self.options.compression]

    def encoder(self, identity: ObjectIdentity) -> "TextEncoder":  # noqa: ARG002  (text says nothing of its object)
        return TextEncoder(self.options, compressor(self.options.compression))


class TextEncoder:
    """`formats.base.Encoder` for text. Exhaust what a call returns before the next call."""

    def __init__(self, options: TextOptions, stream: Compressor) -> None:
        self._options = options
        self._stream = stream

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        for part in binary.slices(batch.select(["value"])):
            values = binary.column(self._options.tombstones.apply(part), "value")
            if len(values):
                if self._options.delimiter_in_value is DelimiterInValue.ESCAPE:
                    values = _escaped(values, self._options.delimiter)
                yield from self._stream.write(_joined(values, self._options.delimiter))
                yield from self._stream.write(self._options.delimiter)

    def finish(self) -> Iterator[Bytes]:
        return self._stream.finish()


def _joined(values: pa.BinaryArray, delimiter: bytes) -> pa.Buffer:
    """Return the values with the delimiter between them: one copy of the payload, made by Arrow."""
    whole = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    return binary.data(cast("pa.BinaryArray", pc.binary_join(whole, delimiter)))


def _escaped(values: pa.BinaryArray, delimiter: bytes) -> pa.BinaryArray:
    """Return ``values`` with escapes for backslashes and for each byte of the delimiter.

    Single bytes are escaped, not the delimiter as a whole: with the delimiter ``--``, the value ``a-`` would else end
    in ``---``, which readers split one byte too early.
    """
    for byte in [_BACKSLASH, *sorted(set(delimiter))]:  # the backslash first: the other escapes bring new ones
        escape = b"\\\\" if byte == _BACKSLASH else _NAMED_ESCAPES.get(byte, b"\\x%02x" % byte)
        values = cast("Any", pc.replace_substring)(values, pattern=bytes([byte]), replacement=escape)
    return values
