"""Format ``text``: each record's value and a delimiter. Keys, headers, timestamps and offsets are not kept.

`docs/formats.md` says what becomes of null values and of values that contain the delimiter.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc

import logpersister_native as native
from logpersister.formats import binary
from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.compression import CONTENT_TYPES, EXTENSIONS, compressor
from logpersister.formats.text.settings import TextSpec

RULES: Final = 1
"""Raise it when an object gets another extension, or a record becomes other bytes before they are compressed."""

_BACKSLASH: Final = 0x5C
_NAMED_ESCAPES: Final = {0x09: b"\\t", 0x0A: b"\\n", 0x0D: b"\\r"}


@dataclass(frozen=True, slots=True)
class TextFormat:
    """`formats.base.Format` for text."""

    settings: TextSpec

    wants_headers = False
    held_back = 2 << 20  # a block of lines, the state of a compressor, and a chunk

    @property
    def extension(self) -> str:
        return ".txt" + EXTENSIONS[self.settings.compression]

    @property
    def content_type(self) -> str:
        return CONTENT_TYPES.get(self.settings.compression, "text/plain")

    def encoder(self, identity: ObjectIdentity) -> "TextEncoder":  # noqa: ARG002  (text says nothing of its object)
        return TextEncoder(self.settings)


class TextEncoder:
    """`formats.base.Encoder` for text. Exhaust what a call returns before the next call."""

    def __init__(self, settings: TextSpec) -> None:
        self._settings = settings
        self._delimiter = settings.delimiter.encode()
        self._lines = native.Delimited(self._delimiter)
        self._stream = compressor(settings.compression)

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        for part in binary.slices(batch.select(["value"])):
            values = binary.column(part, "value")
            if self._settings.tombstones == "empty":
                values = binary.empty_for_null(values)
            if self._settings.delimiter_in_value == "escape":
                values = _escaped(values, self._delimiter)
            for block in self._lines.add(values):
                yield from self._stream.write(block)

    def finish(self) -> Iterator[Bytes]:
        yield from self._stream.write(self._lines.finish())
        yield from self._stream.finish()


def _escaped(values: pa.BinaryArray, delimiter: bytes) -> pa.BinaryArray:
    """Return ``values`` with escapes for backslashes and for each byte of the delimiter.

    Single bytes are escaped, not the delimiter as a whole: with the delimiter ``--``, the value ``a-`` would else end
    in ``---``, which readers split one byte too early.
    """
    for byte in [_BACKSLASH, *sorted(set(delimiter))]:  # the backslash first: the other escapes bring new ones
        escape = b"\\\\" if byte == _BACKSLASH else _NAMED_ESCAPES.get(byte, b"\\x%02x" % byte)
        values = cast("Any", pc.replace_substring)(values, pattern=bytes([byte]), replacement=escape)
    return values
