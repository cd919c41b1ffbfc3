"""Format text."""

import codecs
import gzip
import subprocess

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.compression import Compression
from logpersister.formats.text.write import DelimiterInValue, TextFormat, TextOptions
from tests.examples import examples
from tests.unit.formats.samples import Record, batch, cut, encode, many_records, records


def _records(*values: bytes | None) -> list[Record]:
    return [Record(offset, 0, b"key", value) for offset, value in enumerate(values)]


def _text(options: TextOptions, *values: bytes | None) -> bytes:
    return encode(TextFormat(options), [batch(_records(*values))])


def _decompress(compression: Compression, content: bytes) -> bytes:
    match compression:
        case Compression.NONE:
            return content
        case Compression.GZIP:
            return gzip.decompress(content)
        case Compression.ZSTD:
            return zstandard.ZstdDecompressor().decompressobj().decompress(content)


@pytest.mark.parametrize("compression", Compression)
@examples(50)
@given(rows=records(), cuts=st.lists(st.integers(0, 30), max_size=4))
def test_every_value_and_a_delimiter(compression: Compression, rows: list[Record], cuts: list[int]) -> None:
    content = encode(TextFormat(TextOptions(compression)), cut(batch(rows), cuts))
    expected = b"".join(row.value + b"\n" for row in rows if row.value is not None)
    assert _decompress(compression, content) == expected


@pytest.mark.parametrize("compression", Compression)
def test_large_content(compression: Compression) -> None:
    rows = [*many_records(1_500_000), Record(9_999_999, 0, None, bytes(3_000_000))]
    expected = b"".join(row.value + b"\n" for row in rows if row.value is not None)
    assert _decompress(compression, encode(TextFormat(TextOptions(compression)), [batch(rows)])) == expected


@pytest.mark.parametrize("delimiter", [b"\n", b"\r\n", b"\x00", b"\x1e", b"--", "¶".encode()])
def test_delimiter(delimiter: bytes) -> None:
    assert _text(TextOptions(delimiter=delimiter), b"a", b"", b"c") == b"a" + delimiter + delimiter + b"c" + delimiter


def test_a_delimiter_in_a_value_is_kept_by_default() -> None:
    """The bytes are all there; a reader counts three lines for two records."""
    assert _text(TextOptions(), b"one\ntwo", b"three") == b"one\ntwo\nthree\n"


def test_escaped_values_read_like_c() -> None:
    options = TextOptions(delimiter_in_value=DelimiterInValue.ESCAPE)
    assert _text(options, b"one\ntwo", b"a\\nb", b'{"a": "\\""}') == b'one\\ntwo\na\\\\nb\n{"a": "\\\\""}\n'
    separator = TextOptions(delimiter=b"\r\x1e", delimiter_in_value=DelimiterInValue.ESCAPE)
    assert _text(separator, b"a\rb\x1e\n") == b"a\\rb\\x1e\n\r\x1e"


@examples(200)
@given(
    values=st.lists(st.binary(max_size=12) | st.text("\\\n\r-|¶x", max_size=8).map(str.encode), min_size=1, max_size=8),
    delimiter=st.sampled_from([b"\n", b"\r\n", b"\r", b"\t", b"\x00", b"--", b"-|-", "¶".encode(), b" "]),
)
def test_escaped_values_are_restored_by_splitting_and_unescaping(values: list[bytes], delimiter: bytes) -> None:
    content = _text(TextOptions(delimiter=delimiter, delimiter_in_value=DelimiterInValue.ESCAPE), *values)
    *lines, nothing = content.split(delimiter)
    assert nothing == b""
    assert [codecs.escape_decode(line)[0] for line in lines] == values


@pytest.mark.parametrize("delimiter", [b"x", b"7", b"\\", b"\n\\"])
def test_escapes_need_a_delimiter_that_they_do_not_contain(delimiter: bytes) -> None:
    with pytest.raises(ValueError, match="letter, digit or backslash"):
        TextOptions(delimiter=delimiter, delimiter_in_value=DelimiterInValue.ESCAPE)
    assert _text(TextOptions(delimiter=delimiter), b"a") == b"a" + delimiter


def test_an_empty_delimiter_is_refused() -> None:
    with pytest.raises(ValueError, match="delimiter is empty"):
        TextOptions(delimiter=b"")


def test_gzip_is_one_member_without_time_or_name() -> None:
    content = _text(TextOptions(Compression.GZIP), b"a")
    assert content[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    assert subprocess.run(["gzip", "-dc"], input=content, capture_output=True, check=True).stdout == b"a\n"


def test_zstd_has_a_checksum() -> None:
    content = _text(TextOptions(Compression.ZSTD), b"a" * 1000)
    assert zstandard.get_frame_parameters(content).has_checksum
    damaged = content[:-1] + bytes([content[-1] ^ 1])
    with pytest.raises(zstandard.ZstdError):
        _decompress(Compression.ZSTD, damaged)
