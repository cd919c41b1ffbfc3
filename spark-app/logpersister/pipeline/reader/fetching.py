"""Keeps requests in flight for a list of ranges and hands out their data in order.

Runs in the consumer's thread: answers wait in the inbox until the consumer asks for more. So there is nothing to
lock; the connections' own thread receives meanwhile.
"""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Protocol, TypeVar

import structlog

from logpersister.pipeline.reader.batches import Piece, scan
from logpersister.pipeline.reader.errors import RangeReadError, Verdict, judge
from logpersister.pipeline.reader.fetch import Frame, Planned, RangeState, ReadRequest, plan
from logpersister.pipeline.reader.inbox import Inbox
from logpersister.pipeline.reader.messages import (
    ClusterError,
    FetchAnswer,
    FetchCall,
    FetchPart,
    Location,
    LogOffsets,
    PartitionData,
    Stats,
    Topology,
)
from logpersister.pipeline.reader.settings import ReaderSettings
from logpersister.ranges import Offset, TopicPartition, topic_id_text

log = structlog.get_logger()

T = TypeVar("T")

_LOUD_ATTEMPTS = 5
"""Failures in a row from which on retries are logged as warnings."""

_EMPTIES = 3
"""So many empty answers in a row make us ask the leader whether there can be records at all."""

_LONGEST_WAIT = 5.0
"""Look at the deadlines at least so often, in seconds."""


class Cluster(Protocol):
    """What is needed of `connection.KafkaCluster`. Futures fail with `ClusterError` only."""

    def locate(self, topics: Sequence[str]) -> Future[Topology]: ...
    def fetch(self, call: FetchCall) -> Future[FetchAnswer]: ...
    def log_offsets(self, partition: TopicPartition, location: Location) -> Future[LogOffsets]: ...


class Fetching:
    """The ranges of one call of `KafkaReader.read`."""

    def __init__(
        self,
        cluster: Cluster,
        requests: Sequence[ReadRequest],
        settings: ReaderSettings,
        *,
        inbox: Inbox,
        stats: Stats,
        topology: Topology | None = None,
        once: bool = False,
    ) -> None:
        self.states = [RangeState(request, request.range.start, request.topic_id, once) for request in requests]
        """In the order in which they must be consumed; see `sort`."""
        self.topology = topology or Topology({}, {}, float("-inf"))
        self._cluster, self._settings, self._inbox, self._stats = cluster, settings, inbox, stats
        self._wanting = list(self.states)
        self._in_flight: dict[int, Planned] = {}
        self._silent_until: dict[int, float] = {}
        self._used = 0
        self._handed_out: Frame | None = None
        self._locating = False
        self._locate_wanted = True
        self._locate_not_before = 0.0
        self._locate_attempts = 0
        if topology is not None:
            self._located(topology)

    # What the consumer calls

    def sort(self) -> None:
        """Put the ranges of one leader beside each other, so that they share requests; give up when it takes long."""
        deadline = self._inbox.now() + self._settings.stall_timeout
        while self._wanting and self.topology.time == float("-inf") and self._inbox.now() < deadline:
            self._dispatch()
            self._wait(deadline)

        def leader(state: RangeState) -> tuple[bool, int]:
            node = self.topology.of(state.request.range.partition).leader
            return node is None, -1 if node is None else node

        self.states.sort(key=leader)
        self._wanting = [state for state in self.states if state.wanting]

    def take(self, state: RangeState) -> Piece | None:
        """Return the next piece of the range, waiting for it; None when it is complete. Raises `RangeReadError`.

        The piece before it is given back by this: its memory counts as free.
        """
        self._give_back()
        if state.closed:
            raise RuntimeError(f"{state.request.range} was given up: another range was taken from the reader")
        stalled_since, progress = self._inbox.now(), state.position
        while not state.pieces:
            if state.error is not None:
                raise state.error
            if state.position >= state.end:
                return None
            if state.position != progress:
                stalled_since, progress = self._inbox.now(), state.position
            deadline = stalled_since + self._settings.stall_timeout
            if self._inbox.now() >= deadline:
                state.error = self._stalled(state)
                continue
            self._dispatch()
            self._make_room(state)
            self._wait(deadline)
        piece, self._handed_out = state.pieces.popleft()
        self._take_events()
        self._dispatch()  # the next request is under way while this piece is consumed
        return piece

    def rewind(self, state: RangeState, offset: Offset) -> None:
        """Fetch the range again from ``offset``."""
        self._give_back()
        self._drop(state)
        state.position, state.last_epoch = offset, -1
        state.asked = None  # an answer under way is not for this position
        if state not in self._wanting:
            self._wanting.insert(0, state)

    def corrupt(self, state: RangeState, offset: Offset, reason: str) -> None:
        """Fetch again what was damaged, a few times."""
        self.rewind(state, offset)
        self._corrupt(state, reason)

    def close(self, state: RangeState) -> None:
        """The range is not consumed any further: forget what there is of it."""
        self._give_back()
        self._drop(state)
        state.asked, state.closed = None, True
        self._forget_satisfied()

    # Requests

    def _dispatch(self) -> None:
        """Send what can be sent now."""
        if not self._wanting:
            return
        now = self._inbox.now()
        self._locate(now)
        silent = self._in_flight.keys() | {node for node, until in self._silent_until.items() if now < until}
        free = self._settings.buffer_bytes - self._used
        for planned in plan(self._wanting, self._location, self._settings, silent=silent, free=free, now=now):
            self._send(planned)

    def _location(self, state: RangeState) -> Location:
        return self.topology.of(state.request.range.partition)

    def _send(self, planned: Planned) -> None:
        call = planned.call
        for state in planned.states:
            state.asked = call
        self._in_flight[call.node] = planned
        self._use(call.max_bytes)
        self._stats.fetches += 1
        self._request(self._cluster.fetch(call), partial(self._fetched, planned))

    def _request(self, future: Future[T], then: Callable[[Future[T]], None]) -> None:
        future.add_done_callback(lambda done: self._inbox.put(partial(then, done)))

    def _locate(self, now: float) -> None:
        wanted = self._locate_wanted or now - self.topology.time > self._settings.metadata_age
        if self._locating or not wanted or now < self._locate_not_before:
            return
        self._locating, self._locate_wanted = True, False
        self._locate_attempts += 1
        self._locate_not_before = now + self._pause(self._locate_attempts)
        topics = sorted({state.request.range.partition.topic for state in self._wanting})
        self._request(self._cluster.locate(topics), self._located_or_not)

    def _wait(self, deadline: float) -> None:
        """Wait for an event, for a pause to end, or for the deadline."""
        now = self._inbox.now()
        pauses = [state.not_before for state in self._wanting] + list(self._silent_until.values())
        if self._locate_wanted and not self._locating:
            pauses.append(self._locate_not_before)
        until = min([deadline, now + _LONGEST_WAIT, *(pause for pause in pauses if pause > now)])
        event = self._inbox.wait(until - now)
        if event is not None:
            event()
            self._take_events()

    def _take_events(self) -> None:
        while (event := self._inbox.wait(0)) is not None:
            event()

    # Memory

    def _use(self, size: int) -> None:
        self._used += size
        self._stats.peak_buffer_bytes = max(self._stats.peak_buffer_bytes, self._used)

    def _release(self, frame: Frame) -> None:
        frame.uses -= 1
        if not frame.uses:
            self._used -= frame.size

    def _give_back(self) -> None:
        if self._handed_out is not None:
            self._release(self._handed_out)
            self._handed_out = None

    def _drop(self, state: RangeState) -> None:
        while state.pieces:
            piece, frame = state.pieces.pop()
            self._stats.wasted_bytes += len(piece.data)
            self._release(frame)

    def _make_room(self, state: RangeState) -> None:
        """Drop what was fetched ahead, the last first, when it keeps the range that is consumed from advancing."""
        if state.asked is not None or state.pieces or not state.wanting:
            return
        for later in reversed(self.states):
            if self._settings.buffer_bytes - self._used >= self._settings.partition_bytes:
                return
            if later is not state and later.pieces:
                start = later.pieces[0][0].start
                self._stats.retried("dropped")
                self._drop(later)
                later.position, later.last_epoch, later.asked = start, -1, None
                self._wanting = [one for one in self.states if one.wanting]

    # Answers

    def _fetched(self, planned: Planned, future: Future[FetchAnswer]) -> None:
        call = planned.call
        del self._in_flight[call.node]
        self._used -= call.max_bytes
        asked = [(part, state) for part, state in zip(call.parts, planned.states, strict=True) if state.asked is call]
        for _, state in asked:
            state.asked = None
        error = future.exception()
        if isinstance(error, ClusterError):
            self._unreachable(call.node, [state for _, state in asked], error)
            return
        answer = future.result()
        self._stats.bytes += answer.size
        now = self._inbox.now()
        if answer.throttle:
            self._stats.throttle_ms += int(answer.throttle * 1000)
            self._silent_until[call.node] = now + answer.throttle
        if answer.error:
            name, _ = judge(answer.error)
            for _, state in asked:
                self._retry(state, name)
            return
        self._answered(call, asked, answer)
        self._forget_satisfied()

    def _answered(self, call: FetchCall, asked: Sequence[tuple[FetchPart, RangeState]], answer: FetchAnswer) -> None:
        frame = Frame(answer.size, uses=1)
        self._use(frame.size)
        delivered = any(len(data.records) for data in answer.parts.values())
        for part, state in asked:
            data = answer.parts.get(part.partition)
            if data is None:  # a broker that throttles us answers without any partition
                self._retry(state, "throttled" if answer.throttle else "not-answered", pause=not answer.throttle)
                continue
            name, verdict = judge(data.error)
            if verdict is Verdict.OK:
                first = part is call.parts[0]
                self._accept(call, part, state, data, frame, crowded=delivered and not first)
            else:
                self._refused(call, state, name, verdict)
        self._release(frame)

    def _accept(
        self, call: FetchCall, part: FetchPart, state: RangeState, data: PartitionData, frame: Frame, *, crowded: bool
    ) -> None:
        if data.diverging_end >= 0:
            self._truncated(state, LogOffsets(data.log_start, data.diverging_end, data.log_start))
            return
        now = self._inbox.now()
        if data.preferred_replica >= 0 and data.preferred_replica != call.node:
            state.preferred = (data.preferred_replica, now + self._settings.replica_expiry)
            self._retry(state, "preferred-replica", pause=state.attempts > 0)
            return
        found = scan(data.records, state.position, state.end, data.aborted, self._settings.decode_bytes)
        self._stats.wasted_bytes += len(data.records) - found.used_bytes
        if found.next_offset > state.position:
            for piece in found.pieces:
                frame.uses += 1
                state.pieces.append((piece, frame))
            state.advanced(found.next_offset, max(found.used_bytes, 1))
            state.last_epoch = found.last_epoch
            self._locate_attempts = 0
            if state.once:
                state.position = state.end
        elif found.needed_bytes > part.max_bytes:
            state.least_bytes = found.needed_bytes
            self._retry(state, "record-larger-than-request", pause=False)
        elif crowded:
            state.least_bytes = min(2 * part.max_bytes, self._settings.request_bytes)
            self._retry(state, "crowded-out", pause=False)
        elif state.once:
            state.position = state.end
        else:
            self._empty(call, state, data)

    def _empty(self, call: FetchCall, state: RangeState, data: PartitionData) -> None:
        """The first partition of a request brought no records: a replica that lags, or a log without any there."""
        state.empties += 1
        readable = data.last_stable_offset if self._settings.read_committed else data.high_watermark
        if state.empties >= _EMPTIES and readable >= state.end and call.node == self._location(state).leader:
            self._look_up_offsets(state, self._nothing_there)
        else:
            self._retry(state, "no-records")

    def _refused(self, call: FetchCall, state: RangeState, name: str, verdict: Verdict) -> None:
        at_leader = call.node == self._location(state).leader
        if verdict is Verdict.OUT_OF_RANGE and at_leader:
            self._look_up_offsets(state, self._out_of_range)
        elif verdict is Verdict.UNAUTHORIZED:
            self._fail(state, "unauthorized", f"{name}: the user may not read this topic; grant it Read and Describe")
        elif verdict is Verdict.UNKNOWN_TOPIC:
            self._unknown(state, name)
        elif verdict is Verdict.CORRUPT:
            self._corrupt(state, "the broker finds its log corrupt")
        else:
            state.preferred = None  # a replica that lags is out of range where the leader is not
            self._retry(state, name if at_leader else f"{name}-at-follower", locate=verdict is Verdict.MOVED)

    def _unreachable(self, node: int, states: Sequence[RangeState], error: ClusterError) -> None:
        for state in states:
            state.preferred = None
            if error.unauthorized:
                self._fail(state, "unauthorized", f"broker {node} refused the login: {error}")
            else:
                self._retry(state, error.reason, locate=True)

    # Metadata

    def _located_or_not(self, future: Future[Topology]) -> None:
        self._locating = False
        error = future.exception()
        if not isinstance(error, ClusterError):
            self._located(future.result())
            return
        self._locate_wanted = True
        self._stats.retried(f"metadata-{error.reason}")
        log.debug("reader.metadata_failed", reason=error.reason, error=str(error), attempts=self._locate_attempts)
        if error.unauthorized:
            for state in self._wanting:
                self._fail(state, "unauthorized", f"brokers refused the login: {error}")

    def _located(self, topology: Topology) -> None:
        self.topology = topology
        self._locate_wanted = False
        for state in self._wanting:
            if not state.wanting:
                continue
            location = self._location(state)
            name, verdict = judge(location.error)
            topic_id = topic_id_text(location.topic_id)
            if verdict is Verdict.UNAUTHORIZED:
                self._fail(state, "unauthorized", f"{name}: the user may not see this topic; grant it Describe")
            elif verdict is Verdict.UNKNOWN_TOPIC:
                self._unknown(state, name)
            elif topic_id and state.topic_id and topic_id != state.topic_id:
                reason = f"the topic with id {state.topic_id} is gone, another one (id {topic_id}) has its name"
                self._fail(state, "topic-recreated", reason)
            elif location.leader is None:
                self._retry(state, "no-leader", locate=True)
            else:
                state.topic_id = state.topic_id or topic_id
        self._forget_satisfied()

    def _unknown(self, state: RangeState, name: str) -> None:
        now = self._inbox.now()
        state.unknown_since = now if state.unknown_since is None else state.unknown_since
        if now - state.unknown_since < self._settings.unknown_topic_timeout:
            self._retry(state, name, locate=True)
        else:
            self._fail(state, "unknown-topic", f"{name}: the cluster does not have this topic or partition")

    # Offsets of the log

    def _look_up_offsets(self, state: RangeState, then: Callable[[RangeState, LogOffsets], None]) -> None:
        location = self._location(state)
        state.asked = location

        def answered(future: Future[LogOffsets]) -> None:
            if state.asked is not location:
                return
            state.asked = None
            error = future.exception()
            if isinstance(error, ClusterError):
                self._retry(state, error.reason, locate=True)
            else:
                then(state, future.result())
            self._forget_satisfied()

        self._request(self._cluster.log_offsets(state.request.range.partition, location), answered)

    def _out_of_range(self, state: RangeState, offsets: LogOffsets) -> None:
        if state.position < offsets.start:
            reason = f"the log begins at {offsets.start}: records were deleted before they were read"
            self._fail(state, "data-lost", reason, offsets)
        elif state.position > offsets.end:
            self._truncated(state, offsets)
        else:
            self._retry(state, "offset-out-of-range", locate=True)  # the leader changed meanwhile

    def _truncated(self, state: RangeState, offsets: LogOffsets) -> None:
        reason = (
            f"the log ends at {offsets.end}, before records that were there: "
            "a replica that lacked them was elected leader (unclean leader election)"
        )
        self._fail(state, "truncated", reason, offsets)

    def _nothing_there(self, state: RangeState, offsets: LogOffsets) -> None:
        """Compaction can leave nothing up to the end of the log; brokers then answer with nothing for ever.

        Believed only where records can be in no place but the leader's own disk: what is in tiered storage is
        also missing from an answer when that storage is slow.
        """
        if offsets.local_start <= state.position and offsets.end >= state.end:
            log.info("reader.nothing_left", range=str(state.request.range), offset=state.position)
            state.position = state.end
        else:
            self._retry(state, "no-records")

    # Outcomes

    def _retry(self, state: RangeState, reason: str, *, pause: bool = True, locate: bool = False) -> None:
        self._stats.retried(reason)
        self._locate_wanted |= locate
        if not pause:
            return
        state.attempts += 1
        seconds = self._pause(state.attempts)
        state.not_before = self._inbox.now() + seconds
        note = log.warning if state.attempts >= _LOUD_ATTEMPTS else log.debug
        note(
            "reader.retry",
            partition=str(state.request.range.partition),
            offset=state.position,
            reason=reason,
            attempts=state.attempts,
            seconds=round(seconds, 3),
        )

    def _pause(self, attempts: int) -> float:
        longest = min(self._settings.backoff * 2.0 ** min(attempts - 1, 20), self._settings.backoff_max)
        return longest * random.uniform(0.5, 1)  # noqa: S311 -- not a secret

    def _corrupt(self, state: RangeState, reason: str) -> None:
        state.corruptions += 1
        if state.corruptions > self._settings.corrupt_retries:
            self._fail(state, "corrupt", f"{reason}; fetched {state.corruptions} times")
        else:
            self._retry(state, "corrupt")

    def _fail(self, state: RangeState, kind: str, reason: str, offsets: LogOffsets | None = None) -> None:
        state.error = RangeReadError(
            kind,  # type: ignore[arg-type]
            state.request.range.partition,
            state.position,
            reason,
            log_start=offsets.start if offsets else None,
            log_end=offsets.end if offsets else None,
        )

    def _stalled(self, state: RangeState) -> RangeReadError:
        location = self._location(state)
        tried = ", ".join(f"{count} {reason}" for reason, count in sorted(self._stats.retries.items())) or "none"
        return RangeReadError(
            "kafka",
            state.request.range.partition,
            state.position,
            f"no progress for {self._settings.stall_timeout:g} s; leader: {location.leader}; retries so far: {tried}",
            retriable=True,
        )

    def _forget_satisfied(self) -> None:
        self._wanting = [state for state in self._wanting if state.wanting]
