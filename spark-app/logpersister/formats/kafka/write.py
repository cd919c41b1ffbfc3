"""Format ``kafka``: record batches as the broker sent them, one after the other, as in a segment of Kafka's log.

Nothing is decoded and nothing encoded: `pipeline.verbatim` passes on what the reader has checked. A batch is in the
object of each range of which it has a record, whole; `pipeline.reader.segment` reads of it what the range has.
"""

from dataclasses import dataclass
from typing import Final, NoReturn

from logpersister.formats.base import ObjectIdentity

RULES: Final = 1
"""Raise it when an object gets another extension, or other record batches."""
EXTENSION: Final = ".kafka"
CHECKSUM: Final = "batches:"
"""How the checksum of an object begins: the CRC-32 of what each batch begins with, its own checksum at the end."""


@dataclass(frozen=True, slots=True)
class KafkaFormat:
    """`formats.base.Format` of record batches."""

    extension = EXTENSION
    content_type = "application/octet-stream"
    wants_headers = True
    held_back = 0

    def encoder(self, identity: ObjectIdentity) -> NoReturn:
        """Refuse: there is no way back from records to their batches."""
        raise NotImplementedError(f"{identity.range}: record batches are stored as they are, not encoded")
