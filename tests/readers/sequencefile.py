"""A small reader of Hadoop's SequenceFiles, version 6, in plain Python: slow, strict, and nobody's relative.

Written from the class comment and the ``Reader`` of ``org.apache.hadoop.io.SequenceFile`` and from
``org.apache.hadoop.io.WritableUtils.readVInt``. Knows keys ``LongWritable`` and ``BytesWritable``, values
``BytesWritable``, and the codec ``DefaultCodec`` (zlib). Raises `SequenceFileError` wherever Hadoop would.
"""

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

_PACKAGE = "org.apache.hadoop.io."


class SequenceFileError(ValueError):
    """The content is not a SequenceFile that this reader knows."""


@dataclass(slots=True)
class SequenceFile:
    """A file that was read whole."""

    key_class: str
    block_compressed: bool
    codec: str | None
    metadata: dict[str, str]
    marker: bytes
    header_bytes: int
    sync_positions: list[int] = field(default_factory=list)
    """Where the escapes before sync markers stand."""
    block_rows: list[int] = field(default_factory=list)
    keys: list[int | bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)


def read(content: bytes) -> SequenceFile:
    """Return everything in ``content``."""
    stream = io.BytesIO(content)
    file = _header(stream)
    if file.block_compressed:
        while stream.tell() < len(content):
            _block(stream, file)
    else:
        for key, value in _records(stream, len(content), file):
            _add(file, key, _inflate(value) if file.codec else value)
    return file


def _header(stream: io.BytesIO) -> SequenceFile:
    if _take(stream, 4) != b"SEQ\x06":
        raise SequenceFileError("does not begin with SEQ and version 6")
    key_class, value_class = _text(stream), _text(stream)
    if value_class != _PACKAGE + "BytesWritable" or not key_class.startswith(_PACKAGE):
        raise SequenceFileError(f"classes {key_class}, {value_class}")
    compressed, block_compressed = (_take(stream, 1) == b"\x01" for _ in range(2))
    codec = _text(stream) if compressed else None
    if codec not in (None, _PACKAGE + "compress.DefaultCodec"):
        raise SequenceFileError(f"codec {codec}")
    entries = struct.unpack(">i", _take(stream, 4))[0]
    metadata = {_text(stream): _text(stream) for _ in range(entries)}
    marker = _take(stream, 16)
    return SequenceFile(key_class.removeprefix(_PACKAGE), block_compressed, codec, metadata, marker, stream.tell())


def _records(stream: io.BytesIO, size: int, file: SequenceFile) -> Iterator[tuple[bytes, bytes]]:
    while stream.tell() < size:
        length = struct.unpack(">i", _take(stream, 4))[0]
        if length == -1:
            _marker(stream, file)
            continue
        key_length = struct.unpack(">i", _take(stream, 4))[0]
        if not 0 <= key_length <= length:
            raise SequenceFileError(f"key of {key_length} bytes in a record of {length}")
        yield _take(stream, key_length), _take(stream, length - key_length)


def _block(stream: io.BytesIO, file: SequenceFile) -> None:
    if _take(stream, 4) != b"\xff\xff\xff\xff":
        raise SequenceFileError("no sync escape before a block")
    _marker(stream, file)
    rows = _variable_integer(stream)
    file.block_rows.append(rows)
    parts = [io.BytesIO(_inflate(_take(stream, _variable_integer(stream)))) for _ in range(4)]
    key_lengths, keys, value_lengths, values = parts
    for _ in range(rows):
        _add(file, _take(keys, _variable_integer(key_lengths)), _take(values, _variable_integer(value_lengths)))
    if any(part.read(1) for part in parts):
        raise SequenceFileError("bytes left over in a block")


def _marker(stream: io.BytesIO, file: SequenceFile) -> None:
    file.sync_positions.append(stream.tell() - 4)
    if _take(stream, 16) != file.marker:
        raise SequenceFileError(f"wrong sync marker at {stream.tell() - 16}")


def _add(file: SequenceFile, key: bytes, value: bytes) -> None:
    if file.key_class == "LongWritable":
        file.keys.append(struct.unpack(">q", key)[0])
    else:
        file.keys.append(_bytes_writable(key))
    file.values.append(_bytes_writable(value))


def _bytes_writable(serialized: bytes) -> bytes:
    if len(serialized) < 4 or struct.unpack(">i", serialized[:4])[0] != len(serialized) - 4:
        raise SequenceFileError(f"BytesWritable of {len(serialized)} bytes begins with {serialized[:4].hex()}")
    return serialized[4:]


def _inflate(content: bytes) -> bytes:
    stream = zlib.decompressobj()
    inflated = stream.decompress(content)
    if not stream.eof or stream.unused_data:
        raise SequenceFileError("a compressed part is not one whole zlib stream")
    return inflated


def _text(stream: io.BytesIO) -> str:
    return _take(stream, _variable_integer(stream)).decode()


def _variable_integer(stream: io.BytesIO) -> int:
    first = struct.unpack(">b", _take(stream, 1))[0]
    if first >= -112:
        return int(first)
    if first < -120:  # negative numbers begin here; no length is negative
        raise SequenceFileError("negative length")
    return int.from_bytes(_take(stream, -112 - first), "big")


def _take(stream: io.BytesIO, size: int) -> bytes:
    taken = stream.read(size)
    if size < 0 or len(taken) < size:
        raise SequenceFileError(f"{size} bytes expected, {len(taken)} found at the end")
    return taken
