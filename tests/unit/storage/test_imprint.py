"""Copies of objects are judged by what a storage says: whole objects, those in parts, and those without a sum."""

import base64
import hashlib
import zlib
from typing import Any

import pytest

from logpersister.storage.imprint import Imprint

PART = 1000
DATA = bytes(range(256)) * 10
PARTS = [DATA[begin : begin + PART] for begin in range(0, len(DATA), PART)]


def crc32(data: bytes) -> str:
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


CRC32_OF_PARTS = crc32(b"".join(zlib.crc32(one).to_bytes(4, "big") for one in PARTS)) + "-3"
MD5_OF_PARTS = md5(b"".join(bytes.fromhex(md5(one)) for one in PARTS)) + "-3"


def imprint(size: int = len(DATA), tag: str = "opaque", **known: Any) -> Imprint:
    return Imprint({}, size, tag, **known)


def is_whole(of: Imprint, data: bytes, piece: int) -> bool:
    return of.is_of(data[begin : begin + piece] for begin in range(0, len(data), piece))


@pytest.mark.parametrize("piece", [1, 7, PART, PART + 1, len(DATA)])
@pytest.mark.parametrize(
    "known",
    [
        {"crc32": crc32(DATA)},
        {"tag": md5(DATA)},
        {"crc32": CRC32_OF_PARTS, "first_part": PART},
        {"tag": MD5_OF_PARTS, "first_part": PART},
        {"crc32": CRC32_OF_PARTS, "tag": MD5_OF_PARTS, "first_part": PART, "has_own_key": True},
        {"crc32": crc32(DATA), "tag": md5(b"encrypted"), "has_own_key": True},
    ],
)
def test_a_sum_finds_each_other_byte(known: dict[str, Any], piece: int) -> None:
    of = imprint(**known)
    assert of.is_summed
    assert is_whole(of, DATA, piece)
    assert not is_whole(of, DATA[:-1] + b"x", piece)
    assert not is_whole(of, b"x" + DATA[1:], piece)
    assert not is_whole(of, DATA[:-1], piece)
    assert not is_whole(of, DATA + b"x", piece)


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"tag": md5(DATA), "has_own_key": True},
        {"tag": MD5_OF_PARTS},
        {"tag": MD5_OF_PARTS, "first_part": 800},
        {"tag": MD5_OF_PARTS, "first_part": 1300},
        {"crc32": CRC32_OF_PARTS, "first_part": 600},
    ],
)
def test_without_a_sum_or_where_parts_were_cut_otherwise_only_sizes_are_compared(known: dict[str, Any]) -> None:
    of = imprint(**known)
    assert not of.is_summed
    assert is_whole(of, b"x" * len(DATA), PART)
    assert not is_whole(of, DATA[:-1], PART)


@pytest.mark.parametrize("known", [{"crc32": crc32(b"")}, {"tag": md5(b"")}])
def test_an_empty_object(known: dict[str, Any]) -> None:
    assert is_whole(imprint(0, **known), b"", 1)
    assert not is_whole(imprint(0, **known), b"x", 1)
