"""The words that every layer shares: topic partition, offset, span, range, and the newest event of some records.

Pure: imports nothing of the project, nothing that does I/O.
"""

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple
from uuid import UUID

Offset = int
"""A position in a topic partition, from 0; what Kafka calls an offset."""

Span = tuple[Offset, Offset]
"""Offsets from the first up to, and without, the second; never empty."""

Cause = Literal["lost", "skipped"]
"""Why offsets are in no object. ``lost``: Kafka's log start had passed them. ``skipped``: somebody set the committed
offset forward."""


class TopicPartition(NamedTuple):
    """One partition of one topic, by name (the topic's id is kept beside it where it matters).

    A tuple, because it is the key of everything: thousands are made, hashed and compared in each round of a member.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True, order=True)
class Range:
    """Offsets ``[start, end)`` of one topic partition that become one object (or one per partition path)."""

    partition: TopicPartition
    start: Offset
    end: Offset

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise ValueError(f"empty or negative range {self.start}..{self.end} of {self.partition}")

    def __str__(self) -> str:
        return f"{self.partition}[{self.start},{self.end})"

    @property
    def span(self) -> "Span":
        return self.start, self.end

    @property
    def offsets(self) -> int:
        """How many offsets the range spans; an upper bound of its records (offsets have gaps)."""
        return self.end - self.start

    def within(self, start: Offset, end: Offset) -> "Range | None":
        """Return the offsets that ``[start, end)`` has, too; None: there are none."""
        start, end = max(self.start, start), min(self.end, end)
        return Range(self.partition, start, end) if start < end else None


@dataclass(frozen=True, slots=True)
class NewestEvent:
    """The newest time that a field of some records has. Nothing that is written depends on it."""

    field: str
    """Digest of the field's name."""
    time: int
    """Milliseconds since the epoch."""

    def followed_by(self, later: "NewestEvent | None") -> "NewestEvent":
        """Return the newest event of these and later records; of another field, only the later ones count."""
        if later is None:
            return self
        return later if later.field != self.field or later.time > self.time else self


def topic_id_text(topic_id: UUID | None) -> str | None:
    """Return a topic id (KIP-516) the way Kafka's own tools print it: 22 characters of URL-safe base64."""
    if topic_id is None or topic_id.int == 0:
        return None
    return urlsafe_b64encode(topic_id.bytes).rstrip(b"=").decode("ascii")


def union(spans: Iterable[Span]) -> list[Span]:
    """Return what the spans cover together: sorted, apart from each other."""
    covered: list[Span] = []
    for start, end in sorted(spans):
        if covered and start <= covered[-1][1]:
            covered[-1] = (covered[-1][0], max(covered[-1][1], end))
        else:
            covered.append((start, end))
    return covered


def minus(spans: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """Return what is left of the spans where ``taken`` does not cover them."""
    left: list[Span] = []
    covers = union(taken)
    index = 0
    for start, end in union(spans):
        position = start
        while index < len(covers) and covers[index][1] <= position:
            index += 1
        at = index
        while at < len(covers) and covers[at][0] < end:
            if covers[at][0] > position:
                left.append((position, covers[at][0]))
            position = max(position, covers[at][1])
            at += 1
        if position < end:
            left.append((position, end))
    return left


def common(one: Iterable[Span], other: Iterable[Span]) -> list[Span]:
    """Return what both cover."""
    first = union(one)
    return minus(first, minus(first, other))
