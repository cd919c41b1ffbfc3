"""Facts of an object of records: its user metadata, together with its facts document. Pure.

S3 takes metadata when an upload *begins*, but how many records an object has is known when it *ends*. So a small
object (one put) has everything in its metadata; a multipart object has the range there, and the rest in a document.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.names import ObjectName

RANGE_KEYS = ("group", "generation", "revision", "topic", "topic-id", "partition", "start", "end")
"""Known when an upload begins."""
CONTENT_KEYS = ("first", "last", "records", "checksum")
"""Known when it ends; and ``tombstones`` and ``payload``, which objects of record batches do not have, nor the latter
those of earlier releases; and perhaps ``unexplained``."""
_PAYLOAD = re.compile(r"([0-9]{1,18})-([0-9]{1,18})")


VALUES, LEFT_OUT = "values", "left-out"
"""Metadata that marks objects in quarantine without values, keys and headers."""
ANY_BYTES = "bytes"
"""The parser of objects that name none: it refuses nothing."""


class ForeignObjectError(Exception):
    """An object whose metadata is not ours, or is not whole; the message says what is missing or wrong."""


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """Everything that an object says about itself."""

    group: str
    generation: int
    revision: str
    topic_id: str | None
    range: Range
    first: Offset
    last: Offset
    records: int
    tombstones: int | None
    """None: not counted, in objects of record batches."""
    checksum: str
    """Checksum of the payloads (`records.checksum`), or of record batches (`formats.kafka.write`)."""
    payload: tuple[int, int] | None = None
    """Bytes of all values and of all keys; None in objects of record batches, and in those of earlier releases."""
    parser: str = ANY_BYTES
    """Parser of the range's values. With any but this, refused records are in an object of their own."""
    unexplained: int = 0
    """Offsets at the end of the range for which Kafka gave nothing, not even a record batch that shows why."""
    rules: str | None = None
    """The revision whose rules it was written by, where that is not its own: another build had promised the range."""
    horizon: int | None = None
    """Records of its range whose folders ended at this instant or before it (milliseconds since the epoch) came late,
    and stand elsewhere; None: none did."""

    @property
    def checksum_is_of_payloads(self) -> bool:
        """Whether its checksum is one of keys and values, however they are stored."""
        return self.checksum.startswith("crc32:")


def parse_facts(key: str, metadata: Mapping[str, str], document: Mapping[str, Any] | None) -> ObjectFacts:
    """Merge the metadata of the object `key` with its facts document, if it has one.

    Raises ForeignObjectError.
    """
    missing = [name for name in RANGE_KEYS if name not in metadata]
    if missing:
        raise ForeignObjectError(f"object {key!r} was not written by logpersister: its metadata has no {missing[0]!r}")
    if document is not None:
        differing = [name for name in RANGE_KEYS if document.get(name) != metadata[name]]
        if differing:
            name = differing[0]
            raise ForeignObjectError(
                f"the facts document of object {key!r} is of another object: its {name!r} is {document.get(name)!r}, "
                f"expected {metadata[name]!r}"
            )
    merged = {**(document or {}), **metadata}
    missing = [name for name in CONTENT_KEYS if not isinstance(merged.get(name), str)]
    if missing:
        found = "its facts document is missing" if document is None else f"its facts document has no {missing[0]!r}"
        raise ForeignObjectError(f"object {key!r} is not whole: {found}; it was deleted or changed by somebody else")
    return _parsed(key, merged)


def check_name(key: str, name: ObjectName, facts: ObjectFacts) -> None:
    """Raise ForeignObjectError where an object is not what its name says: a copy has the records of another one."""
    said = facts.range.partition, facts.generation, facts.range.start
    if said != (name.topic_partition, name.generation, name.start):
        partition, generation, start = said
        raise ForeignObjectError(
            f"object {key!r} has the metadata of generation {generation} of {partition} from offset {start} on: it was "
            "copied or renamed; delete it if that object is where it belongs"
        )


def _parsed(key: str, texts: Mapping[str, str]) -> ObjectFacts:
    def number(name: str, default: str = "") -> int:
        text = texts.get(name, default)
        if not (text.isascii() and text.isdecimal()):
            raise ForeignObjectError(f"metadata {name!r} of object {key!r} is {text!r}, expected a number")
        return int(text)

    start, end, first, last = number("start"), number("end"), number("first"), number("last")
    if not start <= first <= last < end:
        raise ForeignObjectError(f"object {key!r} says it holds offsets {first}..{last} of the range [{start}, {end})")
    return ObjectFacts(
        group=texts["group"],
        generation=number("generation"),
        revision=texts["revision"],
        topic_id=texts["topic-id"] or None,
        range=Range(TopicPartition(texts["topic"], number("partition")), start, end),
        first=first,
        last=last,
        records=number("records"),
        tombstones=number("tombstones") if "tombstones" in texts else None,
        checksum=texts["checksum"],
        payload=_payload(key, texts.get("payload")),
        parser=texts.get("parser", ANY_BYTES),
        unexplained=number("unexplained", "0"),
        rules=texts.get("rules"),
        horizon=number("horizon") if "horizon" in texts else None,
    )


def _payload(key: str, text: object) -> tuple[int, int] | None:
    if text is None:
        return None
    found = _PAYLOAD.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ForeignObjectError(f"metadata 'payload' of object {key!r} is {text!r}, expected two numbers")
    return int(found[1]), int(found[2])
