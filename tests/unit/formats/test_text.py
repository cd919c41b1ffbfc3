"""Format text."""

import codecs
import gzip
import subprocess
from typing import get_args

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from logpersister.formats.base import Bytes, ObjectIdentity
from logpersister.formats.compression import Compression
from logpersister.formats.text.settings import TextSpec
from logpersister.formats.text.write import TextFormat
from logpersister.ranges import Range, TopicPartition
from tests.examples import examples
from tests.unit.formats.samples import Record, batch, cut, encode, records


def _records(*values: bytes | None) -> list[Record]:
    return [Record(offset, 0, b"key", value) for offset, value in enumerate(values)]


PLAIN = TextSpec(compression="none")


def _text(settings: TextSpec, *values: bytes | None) -> bytes:
    return encode(TextFormat(settings), [batch(_records(*values))])


def _decompress(compression: Compression, content: bytes) -> bytes:
    match compression:
        case "none":
            return content
        case "gzip":
            return gzip.decompress(content)
        case "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)


@pytest.mark.parametrize("compression", get_args(Compression))
@examples(50)
@given(rows=records(), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_every_value_and_a_delimiter(compression: Compression, rows: list[Record], cuts: list[int]) -> None:
    content = encode(TextFormat(TextSpec(compression=compression)), cut(batch(rows), cuts))
    expected = b"".join(row.value + b"\n" for row in rows if row.value is not None)
    assert _decompress(compression, content) == expected


def test_memory_is_used_again_once_nobody_reads_it() -> None:
    def pieces(letter: bytes) -> list[Bytes]:
        encoder = TextFormat(PLAIN).encoder(ObjectIdentity(Range(TopicPartition("t", 0), 0, 1), ""))
        rows = batch([Record(0, 0, None, letter * 999)] * 5000)
        return [*encoder.encode(rows), *encoder.finish()]

    def places(of: list[Bytes]) -> set[int]:
        return {piece.address for piece in of if isinstance(piece, pa.Buffer)}

    first, second = pieces(b"a"), pieces(b"b")
    assert b"".join(first) == (b"a" * 999 + b"\n") * 5000
    assert b"".join(second) == (b"b" * 999 + b"\n") * 5000
    before = places(first)
    del first
    third = pieces(b"c")
    assert before & places(third)
    assert b"".join(second) == (b"b" * 999 + b"\n") * 5000
    assert b"".join(third) == (b"c" * 999 + b"\n") * 5000


@examples(200)
@given(
    values=st.lists(st.binary(max_size=12) | st.text("\\\n\r-|¶x", max_size=8).map(str.encode), min_size=1, max_size=8),
    delimiter=st.sampled_from(["\n", "\r\n", "\r", "\t", "\x00", "--", "-|-", "¶", " "]),
)
def test_escaped_values_are_restored_by_splitting_and_unescaping(values: list[bytes], delimiter: str) -> None:
    content = _text(TextSpec(compression="none", delimiter=delimiter, delimiter_in_value="escape"), *values)
    *lines, nothing = content.split(delimiter.encode())
    assert nothing == b""
    assert [codecs.escape_decode(line)[0] for line in lines] == values


@pytest.mark.parametrize("delimiter", ["x", "7", "\\", "\n\\"])
def test_escapes_need_a_delimiter_that_they_do_not_contain(delimiter: str) -> None:
    with pytest.raises(ValidationError, match="letter, digit or backslash"):
        TextSpec(delimiter=delimiter, delimiter_in_value="escape")
    assert _text(TextSpec(compression="none", delimiter=delimiter), b"a").decode() == f"a{delimiter}"


def test_gzip_is_one_member_without_time_or_name() -> None:
    content = _text(TextSpec(compression="gzip"), b"a")
    assert content[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    assert subprocess.run(["gzip", "-dc"], input=content, capture_output=True, check=True).stdout == b"a\n"
