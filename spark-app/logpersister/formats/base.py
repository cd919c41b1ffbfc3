"""The seam between reading and writing: *record batches in, bytes out*."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from logpersister.ranges import Range

Bytes = bytes | bytearray | memoryview | pa.Buffer


@dataclass(frozen=True, slots=True)
class ObjectIdentity:
    """What may, besides the records, influence the bytes of an object: nothing else may (see docs/design)."""

    range: Range
    path: str
    """The partition path, ``""`` or for example ``dt=2026-11-21``."""


class Encoder(Protocol):
    """Turns the record batches of one object into its bytes.

    The bytes depend on the records and the identity only, **not** on how the records are cut into batches: a
    range that is read again arrives in other batches and must give the same object.
    """

    def encode(self, batch: pa.RecordBatch) -> Iterable[Bytes]:
        """Return the bytes that are ready; may be none. ``batch`` has the columns of `records.schema`."""

    def finish(self) -> Iterable[Bytes]:
        """Return the remaining bytes. Nothing may be encoded afterwards."""


class Encoders(Protocol):
    """Makes encoders: a format, or the formats of a topic."""

    def encoder(self, identity: ObjectIdentity) -> Encoder:
        """Return a new encoder for one object."""


class Format(Encoders, Protocol):
    """A configured file format; cheap to make, picklable, shared by all objects of a task."""

    @property
    def extension(self) -> str:
        """Extension of object names, with its dots: ``.txt.gz``."""

    @property
    def content_type(self) -> str: ...

    @property
    def wants_headers(self) -> bool:
        """Whether batches must have the ``headers`` column (it costs time to decode)."""

    @property
    def held_back(self) -> int:
        """About how many bytes of memory the encoder of a large object takes, between two calls."""


def sync_marker(identity: ObjectIdentity, use: bytes) -> bytes:
    """Return the 16 bytes that mark sync points of an object; `use` tells formats apart, in at most 16 bytes.

    Other writers take random ones, but a range that is written again must be the same.
    """
    partition = identity.range.partition
    name = f"{partition.topic}\0{partition.partition}\0{identity.range.start}\0{identity.path}"
    return hashlib.blake2b(name.encode(), digest_size=16, person=use).digest()
