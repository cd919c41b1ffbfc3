"""Decides what to ask brokers for next. Pure: no clock, no connection.

The rules, for ranges in the order in which they will be consumed:

- one request per broker at a time; it asks for as many ranges of that broker as fit, the next one to be consumed
  first, because the first one with data gets at least one whole record batch (KIP-74): so it always advances;
- a range is asked for what it is estimated to hold, not for what the log has behind its end;
- everything buffered and asked for stays within ``buffer_bytes``; room for one request is left to the range that is
  consumed next, the others are fetched ahead with what remains.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from logpersister.backup.part import BackupPart
from logpersister.pipeline.reader.batches import Piece
from logpersister.pipeline.reader.errors import RangeReadError
from logpersister.pipeline.reader.messages import FetchCall, FetchPart, Location
from logpersister.pipeline.reader.settings import ReaderSettings
from logpersister.ranges import Offset, Range, TopicPartition

_SLACK = 1.25
"""Ask for so much more than estimated: a second request costs more than some bytes behind the end."""

_LEAST_ESTIMATE = 256
"""Bytes that every range is thought to have, so that a request does not take thousands of wrong zeros."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A range to read."""

    range: Range
    estimated_bytes: int
    """A hint for packing requests; may be wrong by any factor."""
    topic_id: str | None = None
    """The topic that is meant, as `ranges.topic_id_text` writes it. Another topic of the same name is refused. None:
    the one that has the name when reading begins."""
    backup: BackupPart | None = None
    """What a backup has of the range; None: it is not known, or there is none."""


@dataclass(slots=True)
class Frame:
    """A response in memory, as long as pieces of it are used."""

    size: int
    uses: int = 0


@dataclass(slots=True)
class RangeState:
    """State of reading one range."""

    request: ReadRequest
    position: Offset
    """First offset neither consumed nor buffered: what to ask for next."""
    topic_id: str | None
    once: bool = False
    """One answer is enough, whatever it brings."""
    last_epoch: int = -1
    """Leader epoch of the record batch before `position`."""
    pieces: deque[tuple[Piece, Frame]] = field(default_factory=deque)
    asked: FetchCall | Location | None = None
    """The request under way: records, or, with a location, the log's offsets."""
    error: RangeReadError | None = None
    """Raised when the pieces before it are consumed."""
    seen_bytes: int = 0
    seen_offsets: int = 0
    least_bytes: int = 0
    """Ask for so much at least: grows when an answer was too small to hold a record batch."""
    claimed_bytes: int = 0
    """Size of the record batch at `position` as it was told once, too large to be believed at once."""
    preferred: tuple[int, float] | None = None
    """The replica that the leader told us to read from, and until when."""
    replica_failures: int = 0
    """Failures of such a replica since the last progress."""
    leader_until: float = 0
    """Read from the leader until then, whatever replica it prefers."""
    not_before: float = 0
    """Do not ask earlier."""
    attempts: int = 0
    """Failures since the last progress."""
    empties: int = 0
    """Answers without records since the last progress."""
    corruptions: int = 0
    """Damaged answers for `corrupt_at` in a row."""
    corrupt_at: Offset = -1
    unexplained: int = 0
    """Offsets at the end of which the leader only said nothing: no record batch has them or follows them."""
    closed: bool = False
    """Not consumed any further."""
    unknown_since: float | None = None
    """Since when the cluster does not know the topic."""
    leaderless_since: float | None = None
    """Since when the partition has no leader."""

    @property
    def end(self) -> Offset:
        return self.request.range.end

    @property
    def wanting(self) -> bool:
        """Whether there is anything left to ask for."""
        return self.error is None and not self.closed and self.position < self.end

    def estimated_bytes(self) -> int:
        """Return how many bytes `position` to `end` might have: by what was seen of this range, else by the hint."""
        left = self.end - self.position
        if self.seen_offsets:
            return max(_LEAST_ESTIMATE, left * self.seen_bytes // self.seen_offsets)
        return max(_LEAST_ESTIMATE, self.request.estimated_bytes * left // self.request.range.offsets)

    def advanced(self, next_offset: Offset, size: int) -> None:
        """Note that ``size`` bytes lead up to ``next_offset``."""
        self.seen_bytes += size
        self.seen_offsets += next_offset - self.position
        self.position = next_offset
        self.attempts = self.empties = self.least_bytes = self.claimed_bytes = self.replica_failures = 0
        self.unknown_since = None


def node_of(state: RangeState, location: Location, now: float) -> int | None:
    """Return the broker to read from: the replica that the leader prefers for us, else the leader."""
    if state.preferred is not None:
        replica, until = state.preferred
        if now < until and replica in location.replicas:
            return replica
        state.preferred = None
    return location.leader


@dataclass(slots=True)
class _Draft:
    cap: int
    parts: list[FetchPart] = field(default_factory=list)
    states: list[RangeState] = field(default_factory=list)
    partitions: set[TopicPartition] = field(default_factory=set)
    estimated: int = 0
    asked: int = 0

    def takes(self, state: RangeState) -> bool:
        if not self.parts:
            return True
        fits = self.estimated + state.estimated_bytes() <= self.cap
        return fits and state.request.range.partition not in self.partitions

    def add(self, state: RangeState, location: Location, settings: ReaderSettings) -> None:
        estimated = state.estimated_bytes()
        limit = min(self.cap, max(int(estimated * _SLACK), settings.partition_bytes, state.least_bytes))
        part = FetchPart(
            partition=state.request.range.partition,
            topic_id=location.topic_id,
            leader_epoch=location.leader_epoch,
            offset=state.position,
            last_epoch=state.last_epoch,
            max_bytes=limit,
        )
        self.parts.append(part)
        self.states.append(state)
        self.partitions.add(part.partition)
        self.estimated += estimated
        self.asked += limit


@dataclass(frozen=True, slots=True)
class Planned:
    """A request and the ranges that its parts are for, in the same order."""

    call: FetchCall
    states: tuple[RangeState, ...]


def plan(
    states: Iterable[RangeState],
    locate: Callable[[RangeState], Location],
    settings: ReaderSettings,
    *,
    silent: Collection[int],
    free: int,
    now: float,
) -> list[Planned]:
    """Return the requests to send now.

    ``states`` are in the order of consumption; ``silent`` are brokers that must not be asked now (a request is under
    way, or they asked for a pause); ``free`` is what is left of ``settings.buffer_bytes``, perhaps negative.
    """
    drafts: dict[int, _Draft] = {}
    next_consumed = True
    for state in states:
        if not state.wanting:
            continue
        privileged, next_consumed = next_consumed, False
        if state.asked is not None or now < state.not_before:
            continue
        location = locate(state)
        node = node_of(state, location, now)
        if node is None or node in silent:
            continue
        draft = drafts.get(node)
        if draft is None:
            room = free if privileged else free - settings.request_bytes
            cap = min(settings.request_bytes, room)
            if cap < settings.partition_bytes:
                continue
            if privileged:
                cap = max(cap, state.least_bytes)
            free -= cap
            draft = drafts[node] = _Draft(cap)
        if draft.takes(state):
            draft.add(state, location, settings)
    return [_planned(node, draft, settings, now) for node, draft in drafts.items()]


def _planned(node: int, draft: _Draft, settings: ReaderSettings, now: float) -> Planned:
    # Whom a leader does not know the place of gets the records from itself.
    from_leader = any(now < state.leader_until for state in draft.states)
    max_bytes = min(draft.cap, draft.asked)
    call = FetchCall(
        node=node,
        parts=tuple(draft.parts),
        max_bytes=max_bytes,
        max_wait=settings.max_wait,
        read_committed=settings.read_committed,
        rack="" if from_leader else settings.client_rack or "",
    )
    return Planned(call, tuple(draft.states))
