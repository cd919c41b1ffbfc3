"""Finds the record batches in fetched bytes by their headers, without decoding or checking them.

The reader needs to know, before anything is decoded, how far an answer reaches (to ask for what follows while
this is consumed) and where it can be cut (to decode it in small pieces).

Formats: https://kafka.apache.org/documentation/#recordbatch, and for magic 0 and 1
https://kafka.apache.org/documentation/#messageset. Both begin with int64 offset, int32 length of what follows,
and have int8 magic at byte 16.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from logpersister.pipeline.reader.decode import Aborted
from logpersister.ranges import Offset

_LOG_OVERHEAD = 12
"""Bytes before what ``length`` counts."""

# base offset (of magic 0 and 1: of the last message in it), length, leader epoch (magic 0 and 1: CRC), magic
_PREFIX = struct.Struct(">qiib")
# of magic 2, after the CRC: attributes, last offset delta
_DETAILS = struct.Struct(">hi")
_DETAILS_AT = 21
_PRODUCER_ID = struct.Struct(">q")
_PRODUCER_ID_AT = 43
_LEAST_BYTES = {0: 26, 1: 34, 2: 61}
"""The smallest possible size by magic."""
_CONTROL = 0x20


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive whole record batches of one answer, small enough to be decoded at once."""

    data: memoryview
    start: Offset
    """First offset wanted from it."""
    next_offset: Offset
    """Offset after its last one."""
    aborted: tuple[Aborted, ...]
    """The aborted transactions that are still open where `data` begins, or begin later."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Record batches of a range in a fetch response."""

    pieces: tuple[Piece, ...]
    next_offset: Offset
    """Offset to go on at; the offset asked for when there is no whole batch."""
    last_epoch: int
    """Leader epoch of the last batch, -1 when unknown."""
    used_bytes: int
    """Bytes in `pieces`."""
    needed_bytes: int
    """Size of the first batch when it is cut off, as far as it is known; 0 when it is whole or missing."""


def scan(data: memoryview, start: Offset, end: Offset, aborted: Sequence[Aborted], piece_bytes: int) -> Scan:
    """Cut the whole record batches of ``data`` that concern ``[start, end)`` into pieces of about ``piece_bytes``.

    Headers are taken at their word: a corrupt one leads to a piece that the decoder refuses.
    """
    pieces: list[Piece] = []
    still_aborted = list(aborted)
    piece_aborted = tuple(still_aborted)
    piece_begin, piece_start = 0, start
    position, next_offset, last_epoch = 0, start, -1
    nothing_before = start
    size = len(data)
    while position + _PREFIX.size <= size:
        base, length, epoch, magic = _PREFIX.unpack_from(data, position)
        batch_bytes = _LOG_OVERHEAD + length
        if batch_bytes < _LEAST_BYTES.get(magic, size + 1):
            next_offset, position = next_offset + 1, size  # not a record batch: the decoder shall say so
            break
        if magic == 2 and base >= end:
            nothing_before = end
            break
        if position + batch_bytes > size:
            break
        if magic == 2:
            attributes, last_delta = _DETAILS.unpack_from(data, position + _DETAILS_AT)
            next_offset, last_epoch = max(next_offset, base + last_delta + 1), epoch
            if attributes & _CONTROL and still_aborted:
                _close(still_aborted, _PRODUCER_ID.unpack_from(data, position + _PRODUCER_ID_AT)[0], base)
        else:
            next_offset = max(next_offset, base + 1)
        position += batch_bytes
        if position - piece_begin >= piece_bytes:
            pieces.append(Piece(data[piece_begin:position], piece_start, next_offset, piece_aborted))
            piece_begin, piece_start, piece_aborted = position, next_offset, tuple(still_aborted)
    if position > piece_begin:
        pieces.append(Piece(data[piece_begin:position], piece_start, next_offset, piece_aborted))
    needed = 0 if position or nothing_before == end else _needed(data)
    return Scan(tuple(pieces), max(next_offset, nothing_before), last_epoch, position, needed)


def _close(aborted: list[Aborted], producer_id: int, marker: Offset) -> None:
    """Forget the transaction that a control batch ends. Kept, it would hide the producer's next, committed one."""
    ended = [one for one in aborted if one.producer_id == producer_id and one.first_offset <= marker]
    if ended:
        aborted.remove(min(ended, key=lambda one: one.first_offset))


def _needed(data: memoryview) -> int:
    if len(data) < _LOG_OVERHEAD:
        return len(data) and _LEAST_BYTES[2]
    return _LOG_OVERHEAD + max(0, int.from_bytes(data[8:_LOG_OVERHEAD], "big", signed=True))
