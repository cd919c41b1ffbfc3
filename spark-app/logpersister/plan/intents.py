"""Intents: the metadata of a committed offset and its format.

``OffsetCommit`` stores a string beside the offset, and the broker refuses a commit of a member of an old group
generation. So the committed offset is a compare-and-set register of its partition, and an intent is a write-ahead log
entry in it (docs/design/intents.md)::

    offset=start  "lp1;o=<start>;topic=<id>;gen=<n>;rev=<hash>;since=<s>;at=<place>;ends=<e1>,<e2>"   promised
    offset=end    "lp1;o=<end>;topic=<id>;gen=<n>;rev=<hash>;since=<s>"                               stored up to here

=========  ============================================================================================================
``o``      The offset that the metadata was written beside. Tools that set an offset may keep the metadata of the old
           one: such metadata says nothing about the new offset.
``since``  Where the generation began in this partition; nothing that is written depends on it.
``at``     Bucket and prefix of the revision, so that a member that stores elsewhere finds its snapshot.
``horizon`` Records of folders that ended at this instant or before it (ms since the epoch) came late; without it none
           did. It is at most what was finished when the promise was made (docs/design/finish.md).
``lost``   Up to this offset Kafka has lost the records of the intent; the loss is recorded before the offset moves.
``skip``   The same, for offsets that somebody has skipped.
``seen``   The newest event time before the offset, as far as it is known, and of which field: at most the true one.
           Nothing that is written depends on it (docs/design/finish.md).
=========  ============================================================================================================

The format is versioned by its first word; a release ignores fields that it does not know. An offset without the word
was not committed by us.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from logpersister.ranges import Cause, NewestEvent, Offset, Range, TopicPartition

VERSION = "lp1"
MAX_RANGES = 64
"""Most ranges of one intent: 64 ends of at most 19 digits, with the longest place, stay well below the 4,096 bytes that
a broker takes by default (``offset.metadata.max.bytes``)."""

PLANNED_RANGES = 32
"""Most ranges that the planner promises at once. Recovery (plan/recovery.py) may find a hole before each of them and
must fit all of it into one intent, hence half of `MAX_RANGES`."""

_SEEN: Final = re.compile(r"([0-9a-f]{8}):([0-9]{1,15})")
_UNSTORED_FIELDS: Mapping[str, Cause] = {"lost": "lost", "skip": "skipped"}


class UnknownMetadataError(ValueError):
    """The metadata is ours but of a version or form that this release cannot read; never to be overwritten."""


@dataclass(frozen=True, slots=True)
class UnstoredPrefix:
    """The first offsets of an intent, up to ``end``, that will not be stored: they are lost or skipped."""

    end: Offset
    cause: Cause

    @property
    def field(self) -> str:
        """The field of the metadata that says so."""
        return next(f"{name}={self.end}" for name, cause in _UNSTORED_FIELDS.items() if cause == self.cause)


@dataclass(frozen=True, slots=True)
class Intent:
    """Consecutive ranges of one partition, promised in Kafka before any byte of them is written."""

    partition: TopicPartition
    topic_id: str | None
    start: Offset
    ends: tuple[Offset, ...]
    revision: str
    """Hash of the revision under which the ranges are written, whoever writes them."""
    generation: int
    place: str | None = None
    """Bucket and prefix of the revision; None in promises of releases that did not note it."""
    unstored: UnstoredPrefix | None = None
    """Prefix that is given up; at most all of the ranges."""
    horizon: int | None = None
    """Watermark of the topic's finished folders (milliseconds since the epoch), as far as the promising member
    knew: whoever executes it takes records of these folders for late, whatever is finished by then. None: no record."""

    def __post_init__(self) -> None:
        boundaries = (self.start, *self.ends)
        rising = all(low < high for low, high in zip(boundaries, self.ends, strict=False))
        if not self.ends or self.start < 0 or not rising or len(self.ends) > MAX_RANGES:
            raise ValueError(f"an intent of {self.partition} needs 1 to {MAX_RANGES} rising ends, not {boundaries}")
        if self.unstored is not None and not self.start < self.unstored.end <= self.end:
            raise ValueError(
                f"an intent of {self.partition} over {boundaries} cannot give up what is before {self.unstored}"
            )
        if self.horizon is not None and self.horizon < 0:
            raise ValueError(f"an intent of {self.partition} cannot have the horizon {self.horizon}")

    @property
    def end(self) -> Offset:
        return self.ends[-1]

    def ranges(self) -> Iterator[Range]:
        """Yield all ranges, those that are given up too."""
        start = self.start
        for end in self.ends:
            yield Range(self.partition, start, end)
            start = end

    def after(self, offset: Offset) -> "Intent | None":
        """Return what is left when everything before ``offset`` (one of the ends) is settled."""
        left = tuple(end for end in self.ends if end > offset)
        unstored = self.unstored if self.unstored is not None and self.unstored.end > offset else None
        return replace(self, start=offset, ends=left, unstored=unstored) if left else None


@dataclass(frozen=True, slots=True)
class OffsetMetadata:
    """The metadata that we commit beside an offset."""

    topic_id: str | None
    generation: int
    revision: str | None = None
    """Revision of the intent that stands here, or of the last one that was stored."""
    ends: tuple[Offset, ...] = ()
    since: Offset | None = None
    """Begin of the generation in this partition; None when it is no longer known."""
    place: str | None = None
    """Place of the intent that stands here."""
    unstored: UnstoredPrefix | None = None
    """Prefix that the intent gives up."""
    seen: NewestEvent | None = None
    """Newest event before the offset, a lower bound. None: not known, and always where no field is watched."""
    horizon: int | None = None
    """Watermark of the intent that stands here."""

    def text(self, offset: Offset) -> str:
        """Return the metadata to commit beside ``offset``."""
        fields = [VERSION, f"o={offset}", f"topic={self.topic_id or '-'}", f"gen={self.generation}"]
        if self.revision is not None:
            fields.append(f"rev={self.revision}")
        if self.since is not None:
            fields.append(f"since={self.since}")
        if self.seen is not None:
            fields.append(f"seen={self.seen.field}:{self.seen.time}")
        if self.ends and self.place is not None:
            fields.append(f"at={self.place}")
        if self.ends and self.horizon is not None:
            fields.append(f"horizon={self.horizon}")
        if self.unstored is not None:
            fields.append(self.unstored.field)
        if self.ends:
            fields.append("ends=" + ",".join(map(str, self.ends)))
        return ";".join(fields)


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A committed offset as Kafka holds it; ``metadata`` is None when somebody else committed it."""

    offset: Offset
    metadata: OffsetMetadata | None

    @property
    def text(self) -> str:
        """The metadata to commit beside the offset."""
        return "" if self.metadata is None else self.metadata.text(self.offset)

    @property
    def seen(self) -> NewestEvent | None:
        """Newest event before the offset, as far as the committing member knew."""
        return None if self.metadata is None else self.metadata.seen

    def intent(self, partition: TopicPartition) -> Intent | None:
        """Return the pending intent, if the commit carries one."""
        metadata = self.metadata
        if metadata is None or not metadata.ends or metadata.revision is None:
            return None
        return Intent(
            partition,
            metadata.topic_id,
            self.offset,
            metadata.ends,
            metadata.revision,
            metadata.generation,
            metadata.place,
            metadata.unstored,
            metadata.horizon,
        )


def same_topic(one: str | None, other: str | None) -> bool:
    """Whether two topic ids may name the same topic; brokers before 2.8 have none."""
    return one is None or other is None or one == other


def promised(intent: Intent, since: Offset | None = None, seen: NewestEvent | None = None) -> CommittedOffset:
    """Return the commit that promises the ranges of an intent.

    Args:
        since: where its generation began.
        seen: of records before it.
    """
    metadata = OffsetMetadata(
        intent.topic_id,
        intent.generation,
        intent.revision,
        intent.ends,
        since,
        intent.place,
        intent.unstored,
        seen,
        intent.horizon,
    )
    return CommittedOffset(intent.start, metadata)


def stored(
    offset: Offset,
    topic_id: str | None,
    generation: int,
    *,
    revision: str | None = None,
    since: Offset | None = None,
    seen: NewestEvent | None = None,
) -> CommittedOffset:
    """Return the commit which says that everything before ``offset`` is stored and nothing is pending."""
    return CommittedOffset(offset, OffsetMetadata(topic_id, generation, revision, since=since, seen=seen))


def parse(offset: Offset, metadata: str) -> CommittedOffset:
    """Read a committed offset and its metadata string.

    Raises:
        UnknownMetadataError: the metadata begins like ours (``lp``, a number) but cannot be read.
    """
    version, _, rest = metadata.partition(";")
    if version != VERSION:
        if version[:2] == "lp" and version[2:].isdigit():
            raise UnknownMetadataError(
                f"offset {offset} was committed by a newer release (metadata {version!r}); upgrade this member"
            )
        return CommittedOffset(offset, None)
    try:
        fields = dict(field.split("=", 1) for field in rest.split(";"))
        written_beside = int(fields.get("o", offset))  # older releases did not write it
        committed = CommittedOffset(written_beside, _metadata(fields))
        committed.intent(TopicPartition("check", 0))
    except (KeyError, ValueError) as error:
        raise UnknownMetadataError(
            f"the metadata of offset {offset} is damaged: {metadata[:200]!r} ({error})"
        ) from error
    return committed if written_beside == offset else CommittedOffset(offset, None)


def _metadata(fields: Mapping[str, str]) -> OffsetMetadata:
    ends = tuple(int(end) for end in fields["ends"].split(",")) if "ends" in fields else ()
    unstored = [
        UnstoredPrefix(int(fields[name]), cause) for name, cause in _UNSTORED_FIELDS.items() if name in fields and ends
    ]
    return OffsetMetadata(
        topic_id=None if fields["topic"] == "-" else fields["topic"],
        generation=int(fields["gen"]),
        revision=fields["rev"] if ends else fields.get("rev"),
        ends=ends,
        since=int(fields["since"]) if "since" in fields else None,
        place=fields.get("at") if ends else None,
        unstored=unstored[0] if unstored else None,
        seen=_seen(fields.get("seen", "")),
        horizon=int(fields["horizon"]) if ends and "horizon" in fields else None,
    )


def _seen(text: str) -> NewestEvent | None:
    """Return what a field says; what cannot be read says nothing, because no record depends on it."""
    found = _SEEN.fullmatch(text)
    return None if found is None else NewestEvent(found[1], int(found[2]))
