"""What a storage says of the bytes of an object, by which a copy is judged.

A storage has a CRC-32 where it was sent one (``spec.storage.checksums``), and an entity tag, which is an MD5 unless the
object is encrypted with keys of its own. For an object in parts both are sums over the sums of its parts, which were
cut at sizes that the first one tells (`storage.parts`).
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from isal import isal_zlib

from logpersister.storage.connection import Connection
from logpersister.storage.errors import StorageError
from logpersister.storage.names import decode_metadata
from logpersister.storage.object_requests import ABSENT
from logpersister.storage.parts import part_size

_MD5: Final = re.compile("[0-9a-f]{32}")


class _Sum(Protocol):
    def update(self, data: memoryview | bytes, /) -> None: ...

    def digest(self) -> bytes: ...


class _Nothing:
    def update(self, data: memoryview | bytes, /) -> None:
        """Take bytes that have no sum."""

    def digest(self) -> bytes:
        return b""


class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: memoryview | bytes, /) -> None:
        self._value = isal_zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


@dataclass(frozen=True, slots=True)
class Imprint:
    """Size and sums of an object, and its user metadata."""

    metadata: Mapping[str, str]
    size: int
    tag: str
    """Entity tag, without quotes."""
    crc32: str | None = None
    """In base64; of an object in parts it ends with a hyphen and their number."""
    first_part: int | None = None
    """Bytes of the first part; None: the object was put whole, or the storage does not say."""
    has_own_key: bool = False
    """Whether it is encrypted in a way with which its entity tag is no MD5."""

    @property
    def is_summed(self) -> bool:
        """Whether a copy can be judged by more than its size."""
        return self._wanted() is not None

    def is_of(self, pieces: Iterable[bytes]) -> bool:
        """Whether the bytes of a copy are those of the object, by their number and their sum."""
        make, value, parts = self._wanted() or (_Nothing, b"", None)
        taken, number, sums, running = 0, 1, b"", make()
        room = self._room(number, parts)
        for piece in pieces:
            taken += len(piece)
            if taken > self.size:
                return False
            left = memoryview(piece)
            while len(left) > room:
                running.update(left[:room])
                left, number, sums, running = left[room:], number + 1, sums + running.digest(), make()
                room = self._room(number, parts)
            running.update(left)
            room -= len(left)
        sums += running.digest()
        if parts is not None:
            running = make()
            running.update(sums)
            sums = running.digest()
        return taken == self.size and sums == value

    def _room(self, number: int, parts: int | None) -> int:
        return self.size if parts is None else part_size(number, self.first_part or 0)

    def _wanted(self) -> tuple[Callable[[], _Sum], bytes, int | None] | None:
        """Return the kind of sum, its value, and the number of parts over whose sums it is; None: there is none."""
        crc32, _, crc32_parts = (self.crc32 or "").partition("-")
        tag, _, tag_parts = self.tag.partition("-")
        if crc32 and self._knows(crc32_parts):
            return _Crc32, base64.b64decode(crc32), int(crc32_parts) if crc32_parts else None
        if _MD5.fullmatch(tag) and not self.has_own_key and self._knows(tag_parts):
            kind = partial(hashlib.md5, usedforsecurity=False)
            return kind, bytes.fromhex(tag), int(tag_parts) if tag_parts else None
        return None

    def _knows(self, parts: str) -> bool:
        """Whether it is known where the parts end; who has copied an object may have cut it otherwise."""
        if not parts:
            return True
        if not self.first_part or not parts.isdecimal():
            return False
        left, number = self.size, 0
        while left > 0 and number < int(parts):
            number += 1
            left -= part_size(number, self.first_part)
        return left <= 0 and number == int(parts)


def get_imprint(connection: Connection, key: str) -> Imprint | None:
    """Ask for the imprint of an object; None when it is not there. Raises StorageError."""
    try:
        answer = _head(connection, key)
        tag = answer["ETag"].strip('"')
        first = _first_part(connection, key) if "-" in tag else None
    except StorageError as error:
        if error.code in ABSENT:
            return None
        raise
    if first is not None and first["ETag"] != answer["ETag"]:
        return get_imprint(connection, key)  # it was replaced between the two
    return Imprint(
        metadata=decode_metadata(answer["Metadata"]),
        size=answer["ContentLength"],
        tag=tag,
        crc32=answer.get("ChecksumCRC32"),
        first_part=first["ContentLength"] if first is not None else None,
        has_own_key=answer.get("ServerSideEncryption", "AES256") != "AES256" or "SSECustomerAlgorithm" in answer,
    )


def _first_part(connection: Connection, key: str) -> Any:
    """Ask for the first part of an object; None: the storage does not know such requests."""
    try:
        answer = _head(connection, key, PartNumber=1)
    except StorageError as error:
        if error.kind not in ("rejected", "other"):
            raise
        return None
    return answer if answer.get("PartsCount") else None


def _head(connection: Connection, key: str, **more: Any) -> Any:
    storage = connection.storage
    if storage.checksums == "when_supported":
        more["ChecksumMode"] = "ENABLED"
    with connection.doing("reading metadata", key) as client:
        return client.head_object(Bucket=storage.bucket, Key=key, **more)
