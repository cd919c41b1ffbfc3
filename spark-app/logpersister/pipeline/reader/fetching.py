"""Keeps requests in flight for a list of ranges and hands out their data in order.

Runs in the consumer's thread: answers wait in the inbox until the consumer asks for more. So there is nothing to
lock; the connections' own thread receives meanwhile.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

import structlog

from logpersister.pipeline.reader import ends
from logpersister.pipeline.reader.batches import Piece, scan
from logpersister.pipeline.reader.buffer import Buffer
from logpersister.pipeline.reader.errors import Verdict, judge
from logpersister.pipeline.reader.fetch import Frame, Planned, RangeState, ReadRequest, plan
from logpersister.pipeline.reader.inbox import Inbox
from logpersister.pipeline.reader.leaders import NOTHING, Leaders
from logpersister.pipeline.reader.messages import (
    Cluster,
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
from logpersister.pipeline.reader.replicas import Replicas
from logpersister.pipeline.reader.retries import Retries, backoff_of, fail
from logpersister.pipeline.reader.settings import ReaderSettings
from logpersister.ranges import Offset, topic_id_text

log = structlog.get_logger()

T = TypeVar("T")

_EMPTIES = 3
"""Empty answers in a row after which the leader is asked whether there can be records at all."""

_LONGEST_WAIT = 5.0
"""Look at the deadlines at least so often, in seconds."""


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
        """``topology``: what is known already. ``once``: one answer for each range is enough, whatever it brings."""
        self.states = [RangeState(request, request.range.start, request.topic_id, once) for request in requests]
        """Ranges in the order in which they must be consumed; see `sort`."""
        self.leaders = Leaders(topology or NOTHING, backoff_of(settings), settings.metadata_age)
        self._cluster, self._settings, self._inbox, self._stats = cluster, settings, inbox, stats
        self._buffer = Buffer(settings.buffer_bytes, stats)
        self._retries = Retries(settings, stats)
        self._replicas = Replicas(settings.replica_expiry)
        self._wanting = list(self.states)
        self._in_flight: dict[int, Planned] = {}
        self._silent_until: dict[int, float] = {}
        self._stalled: set[int | None] = set()
        self._delivered: dict[int | None, float] = {}
        if topology is not None:
            self._located(topology)

    # What the consumer calls

    def sort(self) -> None:
        """Put the ranges of one leader beside each other, so that they share requests; give up when it takes long."""
        deadline = self._inbox.now() + self._settings.stall_timeout
        while self._wanting and not self.leaders.known and self._inbox.now() < deadline:
            self._dispatch()
            self._wait(deadline)
        if not self.leaders.known:
            self._stalled.add(None)

        def leader(state: RangeState) -> tuple[bool, int]:
            node = self.leaders.of(state).leader
            return node is None, -1 if node is None else node

        self.states.sort(key=leader)
        self._wanting = [state for state in self.states if state.wanting]

    def take(self, state: RangeState) -> Piece | None:
        """Return the next piece of the range, waiting for it; None when it is complete. Raises `RangeReadError`.

        The piece before it is given back by this: its memory counts as free.
        """
        if state.closed:
            raise RuntimeError(f"{state.request.range} was given up: another range was taken from the reader")
        self._buffer.take_back()
        waiting_since, position = self._inbox.now(), state.position
        while not state.pieces:
            if state.error is not None:
                raise state.error
            if state.position >= state.end:
                return None
            if state.position != position:
                waiting_since, position = self._inbox.now(), state.position
            self._advance(state, waiting_since + self._settings.stall_timeout)
        piece = self._buffer.hand_out(state)
        self._take_events()
        self._dispatch()  # the next request is under way while this piece is consumed
        return piece

    def rewind(self, state: RangeState, offset: Offset) -> None:
        """Fetch the range again from ``offset``."""
        self._buffer.take_back()
        self._fetch_again(state, offset)

    def corrupt(self, state: RangeState, offset: Offset, reason: str) -> None:
        """Fetch again what was damaged, a few times."""
        self.rewind(state, offset)
        self._retries.corrupt(state, reason, self._inbox.now())

    def close(self, state: RangeState) -> None:
        """The range is not consumed any further: forget what there is of it."""
        self._buffer.take_back()
        self._buffer.drop(state)
        state.asked, state.closed = None, True
        self._forget_satisfied()

    # Requests

    def _advance(self, state: RangeState, deadline: float) -> None:
        """Do what can be done for a range that the consumer waits for, then wait for something to happen."""
        location = self.leaders.of(state)
        late = self._inbox.now() >= deadline
        if late and self._delivered.get(location.leader, 0) < deadline - self._settings.stall_timeout:
            # It was waited for this broker (or, None, for metadata) in vain: other ranges need not.
            self._stalled.add(location.leader)
        if late or location.leader in self._stalled:
            self._retries.stalled(state, location)
            return
        self._make_room(state)
        self._dispatch()
        self._wait(deadline)

    def _dispatch(self) -> None:
        if not self._wanting:
            return
        now = self._inbox.now()
        if self.leaders.ask(now):
            topics = sorted({state.request.range.partition.topic for state in self._wanting})
            self._request(self._cluster.locate(topics), self._located_or_not)
        silent = self._in_flight.keys() | {node for node, until in self._silent_until.items() if now < until}
        for planned in plan(
            self._wanting, self.leaders.of, self._settings, silent=silent, free=self._buffer.free, now=now
        ):
            for state in planned.states:
                state.asked = planned.call
            self._in_flight[planned.call.node] = planned
            self._buffer.reserve(planned.call)
            self._stats.fetches += 1
            self._request(self._cluster.fetch(planned.call), partial(self._fetched, planned))

    def _request(self, future: Future[T], then: Callable[[Future[T]], None]) -> None:
        future.add_done_callback(lambda done: self._inbox.put(partial(then, done)))

    def _wait(self, deadline: float) -> None:
        now = self._inbox.now()
        pauses = [state.not_before for state in self._wanting] + list(self._silent_until.values())
        if self.leaders.waiting:
            pauses.append(self.leaders.not_before)
        until = min([deadline, now + _LONGEST_WAIT, *(pause for pause in pauses if pause > now)])
        event = self._inbox.wait(until - now)
        if event is not None:
            event()
            self._take_events()

    def _take_events(self) -> None:
        while (event := self._inbox.wait(0)) is not None:
            event()

    def _make_room(self, state: RangeState) -> None:
        """Drop what was fetched ahead, the last first, when it keeps the range that is consumed from advancing."""
        if state.asked is not None:
            return
        needed = max(self._settings.partition_bytes, state.least_bytes)
        for later in reversed(self.states):
            if self._buffer.free >= needed:
                return
            if later is not state and later.pieces:
                self._stats.retried("dropped")
                self._fetch_again(later, later.pieces[0][0].start)

    def _fetch_again(self, state: RangeState, offset: Offset) -> None:
        self._buffer.drop(state)
        state.position, state.last_epoch, state.unexplained = offset, -1, 0
        # Neither an answer under way nor an error is for this position.
        state.asked, state.error = None, None
        self._wanting = [one for one in self.states if one.wanting]

    def _forget_satisfied(self) -> None:
        self._wanting = [state for state in self._wanting if state.wanting]

    # Answers

    def _fetched(self, planned: Planned, future: Future[FetchAnswer]) -> None:
        call = planned.call
        del self._in_flight[call.node]
        self._buffer.answered(call)
        asked = [(part, state) for part, state in zip(call.parts, planned.states, strict=True) if state.asked is call]
        for _, state in asked:
            state.asked = None
        error = future.exception()
        if isinstance(error, ClusterError):
            self._unreachable(call.node, [state for _, state in asked], error)
            return
        answer = future.result()
        self._stats.bytes += answer.size
        if answer.throttle:
            self._stats.throttle_ms += int(answer.throttle * 1000)
            self._silent_until[call.node] = self._inbox.now() + answer.throttle
        frame = self._buffer.hold(answer.size)
        for part, state in asked:
            data = answer.parts.get(part.partition)
            if data is None:
                self._unanswered(state, answer)
            else:
                self._answered(call, part, state, data, frame)
        self._buffer.release(frame)
        self._forget_satisfied()

    def _unanswered(self, state: RangeState, answer: FetchAnswer) -> None:
        if answer.error:
            self._retry(state, judge(answer.error)[0])
        elif answer.throttle:  # then the broker answers without partitions
            self._retries.again("throttled")
        else:
            self._retry(state, "not-answered")

    def _answered(self, call: FetchCall, part: FetchPart, state: RangeState, data: PartitionData, frame: Frame) -> None:
        name, verdict = judge(data.error)
        at_leader = call.node == self.leaders.of(state).leader
        if verdict is Verdict.OK:
            self._accept(call, part, state, data, frame)
        elif verdict is Verdict.OUT_OF_RANGE and at_leader:
            self._look_up_offsets(state, ends.out_of_range, lambda: self._retry(state, "offset-out-of-range"))
        elif verdict is Verdict.UNAUTHORIZED:
            fail(state, "unauthorized", f"{name}: the user may not read this topic; grant it Read and Describe")
        elif verdict is Verdict.UNKNOWN_TOPIC:
            self.leaders.wanted = True
            self._retries.unknown(state, name, self._inbox.now())
        elif verdict is Verdict.CORRUPT:
            self._retries.corrupt(state, "the broker says that its log is corrupt there", self._inbox.now())
        else:  # a replica that lags behind may be out of range where the leader is not
            self._retry(state, name if at_leader else f"{name}-at-follower")

    def _accept(self, call: FetchCall, part: FetchPart, state: RangeState, data: PartitionData, frame: Frame) -> None:
        if data.diverging_end >= 0:
            ends.truncated(state, LogOffsets(data.log_start, data.diverging_end, data.log_start))
            return
        if data.preferred_replica >= 0 and data.preferred_replica != call.node:
            self._prefer(state, data.preferred_replica)
            return
        found = scan(data.records, state.position, state.end, data.aborted, self._settings.decode_bytes)
        self._stats.wasted_bytes += len(data.records) - found.used_bytes
        if found.next_offset > state.position:
            for piece in found.pieces:
                self._buffer.add(state, piece, frame)
            state.advanced(state.end if state.once else found.next_offset, max(found.used_bytes, 1))
            state.last_epoch = found.last_epoch
            self.leaders.proved()
            self._stalled.discard(call.node)
            self._delivered[call.node] = self._inbox.now()
        elif found.needed_bytes > max(part.max_bytes, state.least_bytes):
            self._grow(state, found.needed_bytes)
        elif part is not call.parts[0]:  # one before it may have used up its room, also without giving anything
            state.least_bytes = min(2 * part.max_bytes, self._settings.request_bytes)
            self._retries.again("crowded-out")
        elif state.once:
            state.position = state.end
        else:
            self._empty(call, state, data)

    def _grow(self, state: RangeState, needed: int) -> None:
        """Ask for more. A batch's length is outside its checksum: what breaks the memory bound must be said twice."""
        if needed > self._settings.max_response_bytes:
            reason = f"a record batch of {needed} bytes is more than {self._settings.max_response_bytes}"
            self._retries.corrupt(state, f"{reason} (max_response_bytes)", self._inbox.now())
        elif needed > self._settings.buffer_bytes and needed != state.claimed_bytes:
            state.claimed_bytes = needed
            self._retries.again("record-larger-than-buffer")
        else:
            state.least_bytes = needed
            self._retries.again("record-larger-than-request")

    def _prefer(self, state: RangeState, replica: int) -> None:
        if replica in self.leaders.of(state).replicas:
            self._replicas.named(state, replica, self._inbox.now())
            self._retries.again("preferred-replica")
        else:
            self._retry(state, "preferred-replica-unknown")

    def _empty(self, call: FetchCall, state: RangeState, data: PartitionData) -> None:
        """The first partition of a request brought no records: a replica that lags, or a log without any there."""
        state.empties += 1
        if state.empties >= _EMPTIES and state.preferred is not None:
            self._retry(state, "no-records-at-follower")
            return
        readable = data.last_stable_offset if self._settings.read_committed else data.high_watermark
        if state.empties >= _EMPTIES and readable >= state.end and call.node == self.leaders.of(state).leader:
            self._look_up_offsets(
                state, ends.nothing_left, lambda: self._retries.later(state, "no-records", self._inbox.now())
            )
        else:
            self._retries.later(state, "no-records", self._inbox.now())

    def _unreachable(self, node: int, states: Sequence[RangeState], error: ClusterError) -> None:
        self._replicas.unreachable(node, self._wanting, self._inbox.now())
        for state in states:
            if error.unauthorized:
                fail(state, "unauthorized", f"a broker refused the login: {error}")
            else:
                self._retry(state, error.reason)
        self._forget_satisfied()

    def _retry(self, state: RangeState, reason: str) -> None:
        """Ask again after a pause, and wherever the leader is then."""
        self._replicas.failed(state, self._inbox.now())
        self.leaders.wanted = True
        self._retries.later(state, reason, self._inbox.now())

    # Metadata

    def _located_or_not(self, future: Future[Topology]) -> None:
        error = future.exception()
        if not isinstance(error, ClusterError):
            topology = future.result()
            self.leaders.answered(topology)
            self._located(topology)
            return
        self.leaders.answered(None)
        self._stats.retried(f"metadata-{error.reason}")
        log.debug("reader.metadata_failed", reason=error.reason, error=str(error))
        if error.unauthorized:
            for state in self._wanting:
                fail(state, "unauthorized", f"brokers refused the login: {error}")
            self._forget_satisfied()

    def _located(self, topology: Topology) -> None:
        self._stalled.discard(None)
        for state in self._wanting:
            if state.wanting:
                self._check(state, topology.of(state.request.range.partition))
        self._forget_satisfied()

    def _check(self, state: RangeState, location: Location) -> None:
        name, verdict = judge(location.error)
        topic_id = topic_id_text(location.topic_id)
        if verdict is Verdict.UNAUTHORIZED:
            fail(state, "unauthorized", f"{name}: the user may not see this topic; grant it Describe")
        elif verdict is Verdict.UNKNOWN_TOPIC:
            self.leaders.wanted = True
            self._retries.unknown(state, name, self._inbox.now())
        elif topic_id and state.topic_id and topic_id != state.topic_id:
            reason = f"the topic with id {state.topic_id} is gone, another one (id {topic_id}) has its name"
            fail(state, "topic-recreated", reason)
        elif location.leader is None:
            self._replicas.failed(state, self._inbox.now())
            self.leaders.wanted = True
            self._retries.leaderless(state, self._inbox.now())
        else:
            state.leaderless_since = None
            state.topic_id = state.topic_id or topic_id

    # Offsets of the log

    def _look_up_offsets(
        self, state: RangeState, settles: Callable[[RangeState, LogOffsets], bool], otherwise: Callable[[], None]
    ) -> None:
        location = self.leaders.of(state)
        state.asked = location

        def answered(future: Future[LogOffsets]) -> None:
            if state.asked is not location:
                return
            state.asked = None
            error = future.exception()
            if isinstance(error, ClusterError):
                self._retry(state, error.reason)
            elif not settles(state, future.result()):
                otherwise()
            self._forget_satisfied()

        self._request(self._cluster.log_offsets(state.request.range.partition, location), answered)
