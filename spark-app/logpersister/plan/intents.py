"""Intents: what the metadata of a committed offset says, and how it is written.

``OffsetCommit`` stores a string beside the offset, and the broker refuses a commit of a member of an old group
generation. So the committed offset is a compare-and-set register of its partition, and an intent is a write-ahead log
entry in it (docs/design/intents.md)::

    offset=start  "lp1;topic=<id>;gen=<n>;rev=<hash>;since=<s>;at=<place>;ends=<e1>,<e2>"   they are being written
    offset=end    "lp1;topic=<id>;gen=<n>;rev=<hash>;since=<s>"                             all before it is stored

``since`` is where the generation began in this partition; nothing that is written depends on it. ``at`` is the bucket
and prefix of the revision, so that a member that stores elsewhere finds its snapshot. The format is versioned by its
first word; fields that a release does not know are ignored. An offset without the word was not committed by us.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from logpersister.ranges import Offset, Range, TopicPartition

VERSION = "lp1"
MAX_RANGES = 64
"""Most ranges of one intent: 64 ends of at most 19 digits, with the longest place, stay well below the 4,096 bytes that
a broker takes by default (``offset.metadata.max.bytes``)."""

PLANNED_RANGES = 32
"""Most ranges that the planner promises at once. Recovery (plan/recovery.py) may find a hole before each of them and
must fit all of it into one intent, hence half of `MAX_RANGES`."""


class UnknownMarkError(ValueError):
    """The metadata is ours but of a version or form that this release cannot read; never to be overwritten."""


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
    """Bucket and prefix of the revision; None in promises of releases that did not tell."""

    def __post_init__(self) -> None:
        boundaries = (self.start, *self.ends)
        rising = all(low < high for low, high in zip(boundaries, self.ends, strict=False))
        if not self.ends or self.start < 0 or not rising or len(self.ends) > MAX_RANGES:
            raise ValueError(f"an intent of {self.partition} needs 1 to {MAX_RANGES} rising ends, not {boundaries}")

    @property
    def end(self) -> Offset:
        return self.ends[-1]

    def ranges(self) -> Iterator[Range]:
        start = self.start
        for end in self.ends:
            yield Range(self.partition, start, end)
            start = end

    def after(self, offset: Offset) -> "Intent | None":
        """Return what is left when everything before ``offset`` (one of the ends) is stored."""
        left = tuple(end for end in self.ends if end > offset)
        return replace(self, start=offset, ends=left) if left else None


@dataclass(frozen=True, slots=True)
class Mark:
    """The metadata that we commit beside an offset."""

    topic_id: str | None
    generation: int
    revision: str | None = None
    """Of the intent that stands here, or of the one that was stored last."""
    ends: tuple[Offset, ...] = ()
    since: Offset | None = None
    """Where the generation began in this partition; None when nobody knows any more."""
    place: str | None = None
    """Of the intent that stands here."""

    def text(self) -> str:
        fields = [VERSION, f"topic={self.topic_id or '-'}", f"gen={self.generation}"]
        if self.revision is not None:
            fields.append(f"rev={self.revision}")
        if self.since is not None:
            fields.append(f"since={self.since}")
        if self.ends and self.place is not None:
            fields.append(f"at={self.place}")
        if self.ends:
            fields.append("ends=" + ",".join(map(str, self.ends)))
        return ";".join(fields)


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offset as Kafka holds it; ``mark`` is None when somebody else committed it."""

    offset: Offset
    mark: Mark | None

    def intent(self, partition: TopicPartition) -> Intent | None:
        """Return the pending intent, if the commit carries one."""
        mark = self.mark
        if mark is None or not mark.ends or mark.revision is None:
            return None
        return Intent(partition, mark.topic_id, self.offset, mark.ends, mark.revision, mark.generation, mark.place)


def promised(intent: Intent, since: Offset | None = None) -> Committed:
    """Return the commit that promises the ranges of an intent, whose generation began at ``since``."""
    mark = Mark(intent.topic_id, intent.generation, intent.revision, intent.ends, since, intent.place)
    return Committed(intent.start, mark)


def stored(
    offset: Offset,
    topic_id: str | None,
    generation: int,
    *,
    revision: str | None = None,
    since: Offset | None = None,
) -> Committed:
    """Return the commit which says that everything before ``offset`` is stored and nothing is pending."""
    return Committed(offset, Mark(topic_id, generation, revision, since=since))


def parse(offset: Offset, metadata: str) -> Committed:
    """Read a committed offset and its metadata string.

    Raises:
        UnknownMarkError: the metadata begins like ours (``lp``, a number) but cannot be read.
    """
    version, _, rest = metadata.partition(";")
    if version != VERSION:
        if version[:2] == "lp" and version[2:].isdigit():
            raise UnknownMarkError(
                f"offset {offset} was committed by a newer release (metadata {version!r}); upgrade this member"
            )
        return Committed(offset, None)
    try:
        fields = dict(field.split("=", 1) for field in rest.split(";"))
        ends = tuple(int(end) for end in fields["ends"].split(",")) if "ends" in fields else ()
        topic_id = None if fields["topic"] == "-" else fields["topic"]
        revision = fields["rev"] if ends else fields.get("rev")
        since = int(fields["since"]) if "since" in fields else None
        mark = Mark(topic_id, int(fields["gen"]), revision, ends, since, fields.get("at") if ends else None)
        committed = Committed(offset, mark)
        committed.intent(TopicPartition("check", 0))
    except (KeyError, ValueError) as error:
        raise UnknownMarkError(f"the metadata of offset {offset} is damaged: {metadata[:200]!r} ({error})") from error
    return committed
