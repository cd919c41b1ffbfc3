"""Format ``sequencefile``: Hadoop's SequenceFile in Secor's two layouts.

Kept: offset and value; with MessagePack keys also timestamp and key. Headers are not kept (`docs/formats.md`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from logpersister.formats import binary
from logpersister.formats.base import Bytes, Encoder, ObjectIdentity, sync_marker
from logpersister.formats.binary import without_nulls
from logpersister.formats.sequencefile.blocks import BLOCK_BYTES, Blocks
from logpersister.formats.sequencefile.layout import Body, header
from logpersister.formats.sequencefile.records import Records
from logpersister.formats.sequencefile.settings import SequenceFileSpec

RULES: Final = 1
"""Raise it when an object gets another extension, or a record becomes another key or value."""


@dataclass(frozen=True, slots=True)
class SequenceFileFormat:
    """`formats.base.Format` for SequenceFiles."""

    settings: SequenceFileSpec

    extension = ".seq"  # for all compressions: readers find the codec in the file's header
    content_type = "application/octet-stream"
    wants_headers = False
    held_back = 2 * BLOCK_BYTES

    def encoder(self, identity: ObjectIdentity) -> Encoder:
        return SequenceFileEncoder(self.settings, identity)


class SequenceFileEncoder:
    """`formats.base.Encoder` for SequenceFiles. Exhaust what a call returns before the next call."""

    def __init__(self, settings: SequenceFileSpec, identity: ObjectIdentity) -> None:
        marker = sync_marker(identity, b"lp-sequencefile")
        self._tombstones = settings.tombstones
        self._header: bytes | None = header(settings, marker)
        self._body: Body = (Blocks if settings.block_compressed else Records)(settings, marker)

    def encode(self, batch: pa.RecordBatch) -> Iterator[Bytes]:
        yield from self._begin()
        for part in binary.slices(batch.select(["offset", "timestamp", "key", "value"])):
            kept = without_nulls(part, self._tombstones)
            if kept.num_rows:
                yield from self._body.records(kept)

    def finish(self) -> Iterator[Bytes]:
        yield from self._begin()
        yield from self._body.rest()

    def _begin(self) -> Iterator[Bytes]:
        if self._header is not None:
            yield self._header
            self._header = None
