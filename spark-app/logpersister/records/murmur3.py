"""Murmur3, 32 bits for x86 with seed 0, of whole columns: what Iceberg's transform ``bucket`` hashes with.

Source: https://iceberg.apache.org/spec/#appendix-b-32-bit-hash-requirements. Numbers are hashed as 8 bytes,
little-endian; text as UTF-8.
"""

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint32]


def hash_numbers(numbers: npt.NDArray[np.int64]) -> Hashes:
    """Return the hash of each number."""
    return _hashed(np.ascontiguousarray(numbers, "<i8").view(np.uint8).reshape(-1, 8))


def hash_bytes(starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], data: npt.NDArray[np.uint8]) -> Hashes:
    """Return the hash of each piece of `data`. Pieces of one length are hashed together."""
    result = np.zeros(len(starts), np.uint32)
    for length in np.unique(lengths).tolist():
        of_length = np.flatnonzero(lengths == length)
        result[of_length] = _hashed(data[starts[of_length, None] + np.arange(length)])
    return result


def _hashed(rows: npt.NDArray[np.uint8]) -> Hashes:
    count, length = rows.shape
    state = np.zeros(count, np.uint32)
    blocks = length // 4
    words = np.ascontiguousarray(rows[:, : 4 * blocks]).view("<u4").astype(np.uint32)
    for block in range(blocks):
        state = _rotated(state ^ _mixed(words[:, block]), 13) * np.uint32(5) + np.uint32(0xE6546B64)
    if length % 4:
        tail = np.zeros(count, np.uint32)
        for place in range(length % 4):
            tail |= rows[:, 4 * blocks + place].astype(np.uint32) << np.uint32(8 * place)
        state = state ^ _mixed(tail)
    state = state ^ np.uint32(length)
    state = (state ^ (state >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    state = (state ^ (state >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return state ^ (state >> np.uint32(16))


def _mixed(words: Hashes) -> Hashes:
    return _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _rotated(words: Hashes, bits: int) -> Hashes:
    return (words << np.uint32(bits)) | (words >> np.uint32(32 - bits))
