"""The beginning of an object, by small ranged requests: no byte is sent that nobody asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from logpersister.storage import names
from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError

FIRST_BYTES: Final = 64 << 10
MOST_BYTES: Final = 4 << 20
"""Each request asks for twice as much as the one before, from the first to the most."""


@dataclass(frozen=True, slots=True)
class Peeked:
    """An object of which some has been read."""

    size: int
    metadata: Mapping[str, str]
    """User metadata, as it was given."""
    pieces: Iterator[bytes]
    """The content from its first byte; each piece is asked for when it is needed."""
    section: Callable[[int, int], bytes]
    """Returns the bytes from a position up to another one; at least one."""


def peek(connection: Connection, bucket: str, key: str) -> Peeked | None:
    """Read the first bytes of an object; return None when it is not there. Raises StorageError."""
    try:
        answer, first = _get(connection, bucket, key, f"bytes=0-{FIRST_BYTES - 1}")
    except StorageError as error:
        if error.code == "NoSuchKey":
            return None
        if error.code != "InvalidRange":
            raise
        answer, first = _get(connection, bucket, key)  # an empty object has no first byte
    size = int(answer.get("ContentRange", "").rpartition("/")[2] or len(first))
    metadata = names.decode_metadata(answer["Metadata"])
    version = answer["ETag"]

    def section(begin: int, end: int) -> bytes:
        return _get(connection, bucket, key, f"bytes={begin}-{end - 1}", IfMatch=version)[1]

    return Peeked(size, metadata, _pieces(section, first, size), section)


def _pieces(section: Callable[[int, int], bytes], first: bytes, size: int) -> Iterator[bytes]:
    yield first
    position, most = len(first), FIRST_BYTES
    while position < size:
        most = min(2 * most, MOST_BYTES)
        # The same object, or an error: the rest of its successor would fit to nothing.
        piece = section(position, position + most)
        yield piece
        position += len(piece)


def _get(
    connection: Connection, bucket: str, key: str, wanted: str | None = None, **more: str
) -> tuple[Mapping[str, Any], bytes]:
    arguments: Any = {**more, **({} if wanted is None else {"Range": wanted})}
    with connection.doing("reading an object", key) as client:
        answer: Any = client.get_object(Bucket=bucket, Key=key, **arguments)
        return answer, answer["Body"].read()
