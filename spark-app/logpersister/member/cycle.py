"""One turn of a member: take in, commit, resolve, ask for end offsets, plan, promise, run.

Decisions are those of `logpersister.plan`; this module asks Kafka and the bucket, tells the protocol of each partition
what has happened, and does what the protocol asks for (plan/protocol.py, docs/design/intents.md).
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeVar

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import Revision
from logpersister.member.commits import Committer
from logpersister.member.end_offsets import EndOffsetMonitor
from logpersister.member.execution import Ended, Execution
from logpersister.member.listener import Listener
from logpersister.member.losses import Losses
from logpersister.member.ports import Dependencies
from logpersister.member.resolver import Resolver
from logpersister.member.sizing import Sizing
from logpersister.member.topic_bindings import TopicBindings
from logpersister.member.unreadable import Unreadable
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.plan import holds
from logpersister.plan.events import Due, LookedAhead, Reconsider
from logpersister.plan.holds import Hold
from logpersister.plan.intents import PLANNED_RANGES, Intent, UnstoredPrefix
from logpersister.plan.partitions import Commit, PartitionStates
from logpersister.plan.planner import Backlog, due
from logpersister.plan.protocol import written
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.report.facts import UnreadablePartition
from logpersister.storage.errors import REFUSALS, StorageError

log = structlog.get_logger(__name__)

T = TypeVar("T")

BUSY_SECONDS = 0.2
"""Least time between two requests for end offsets while a backlog is being worked off."""
QUEUED_RANGES_PER_CORE = 8
"""Full-size ranges that may be promised and not yet running: what a change of generation must wait for."""
MOST_REFUSALS = 3
"""Refusals by a place of another revision, in a row, until its promise is kept in our place."""


class Cycle:
    """The turns of one member. Single-threaded: only jobs, commits and the group run elsewhere."""

    def __init__(
        self,
        resource: LogPersister,
        revision: Revision,
        dependencies: Dependencies,
        *,
        listener: Listener | None = None,
        wake: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._listener = listener or Listener()
        self._wake = wake or threading.Event()
        self._ask_aside = dependencies.aside
        dependencies = replace(dependencies, aside=self._aside)
        self._resource = resource
        self._dependencies = dependencies
        self._clock = clock
        generation = resource.spec.generation
        self.states = PartitionStates(generation)
        self.sizing = Sizing(resource.spec, dependencies.sampler, clock, dependencies.aside)
        self.end_offsets = EndOffsetMonitor(resource, self.states, dependencies.offsets, clock=clock, now=now)
        self.topic_bindings = TopicBindings(dependencies.state_store, generation, clock)
        ours: dict[str, Mapping[str, Any]] = {revision.hash: revision.document}
        self.committer = Committer(
            self.states,
            dependencies.register,
            dependencies.state_store,
            self.topic_bindings,
            ours,
            generation,
            self._listener,
        )
        self.resolver = Resolver(
            resource,
            revision,
            self.states,
            dependencies,
            self.committer,
            ours,
            self.topic_bindings,
            clock=clock,
            now=now,
        )
        self.execution = Execution(
            resource.group_id,
            resource.spec,
            self.states,
            dependencies,
            self.sizing.sizes,
            self._wake,
            clock=clock,
        )
        self.losses = Losses(
            resource.spec.kafka,
            self.states,
            self.committer,
            self.resolver.snapshots,
            dependencies.state_store,
            self._listener,
            clock,
        )
        self._outcomes: dict[Range, RangeOutcome] = {}
        self._refreshed_at = float("-inf")
        self._refresh_soon = True
        self._logged_holds: set[TopicPartition] = set()
        self._unreadable = Unreadable(clock)
        self.forbidden: dict[TopicPartition, float] = {}
        """Since when promised ranges of partitions fail because this user may not read them, by the clock."""
        self.targets: Mapping[TopicPartition, Offset] | None = None
        """End of each partition's work with ``--until-current``; everything before it is due at once. None: no end."""

        self.cut_behind: Callable[[TopicPartition, Offset], Offset | None] = lambda _partition, _position: None
        """Replays: gives the next offset behind a position at which a range has to end; None: there is none."""

    def turn(self, *, promising: bool = True) -> None:
        """Do one turn. Without ``promising`` nothing new begins: what runs is only taken in and committed."""
        try:
            self._update_ownership()
            self._take_ended()
            self._commit_progress()
            if promising:
                self._refresh_soon |= self.resolver.resolve()
                self._refresh_soon |= self.losses.record()
                if self._clock() - self._refreshed_at >= self._refresh_interval():
                    self._refresh_end_offsets()
                    self._promise(self._plan())
                self._unreadable.note(self.resolver.unreadable | self.end_offsets.unreadable | self.committer.refused)
                self.execution.start(self.resolver.snapshots.documents, without=self.unreadable)
        finally:
            self._log_holds()

    @property
    def unreadable(self) -> Mapping[TopicPartition, UnreadablePartition]:
        """Partitions of this member that Kafka does not let us read now."""
        return self._unreadable.partitions

    def _aside(self, question: Callable[[], T], seconds: float) -> "Future[T]":
        """Ask something that only some topics need; who waits for the answer is planned once it is there."""
        answer = self._ask_aside(question, seconds)
        if not answer.done():
            answer.add_done_callback(self._note_answer)
        return answer

    def _note_answer(self, _: "Future[Any]") -> None:
        self._refresh_soon = True
        self._wake.set()

    def seconds_to_next(self) -> float:
        """Return how long nothing needs to be done, unless a job ends."""
        until_refresh = self._refreshed_at + self._refresh_interval() - self._clock()
        unfinished = self.states.unresolved() or self.states.pending()
        return max(0.0, min(until_refresh, 1.0) if unfinished else until_refresh)

    def _refresh_interval(self) -> float:
        return BUSY_SECONDS if self._refresh_soon else self._resource.spec.cycle_interval.total_seconds()

    # own, take in, commit

    def _update_ownership(self) -> None:
        tokens = self._dependencies.group.ownership()
        if tokens.keys() - set(self.states.owned()):
            self._refresh_soon = True
        gone = set(self.states.own(tokens))
        if not gone:
            return
        for partition in gone:
            self.end_offsets.forget(partition)
            self.resolver.output_revisions.forget(partition)
            self._unreadable.forget(partition)
            self.forbidden.pop(partition, None)
        self._logged_holds -= gone
        self._outcomes = {r: outcome for r, outcome in self._outcomes.items() if r.partition not in gone}
        self._refresh_soon = True

    def _take_ended(self) -> None:
        failed: list[tuple[Ended, WorkError]] = []
        for ended in self.execution.take_ended():
            if ended.outcome.error is None:
                self._take_stored(ended)
            else:
                self.states.failed(ended.outcome.range, ended.token, self.execution.backoff)
                failed.append((ended, ended.outcome.error))
        self._release(except_for=self.states.writes())
        for ended, error in failed:  # last, because the bucket may have to be asked, and that may fail
            self._take_failed(ended, error)

    def _take_stored(self, ended: Ended) -> None:
        range_ = ended.outcome.range
        self.sizing.learn(range_, ended.outcome.bytes)
        self.states.succeeded(range_, ended.token, ended.outcome.newest)
        self.forbidden.pop(range_.partition, None)
        if self.states.token(range_.partition) == ended.token:
            self._outcomes[range_] = ended.outcome

    def _take_failed(self, ended: Ended, error: WorkError) -> None:
        range_ = ended.outcome.range
        self._listener.failed(range_, error)
        if self.states.token(range_.partition) != ended.token:
            return
        if error.kind == "unauthorized" and not error.upload:
            self.forbidden.setdefault(range_.partition, self._clock())
        elif error.kind == "data-lost" and error.log_start is not None:
            self.losses.take_promised(range_, error.log_start)
            self._refresh_soon = True
        elif error.kind == "hole":
            self.states.hold(range_.partition, holds.hole(range_.partition, error.message))
        elif error.kind == "topic-recreated":
            known = self.states.topic_id(range_.partition)
            self.states.hold(range_.partition, holds.topic_recreated(range_.partition, known, "another one"))
        elif error.kind == "other-rules":
            self.states.hold(range_.partition, holds.other_rules(range_.partition, error.message))
        elif error.kind == "too-many-refused":
            self.states.hold(range_.partition, holds.too_many_refused(range_.partition, error.message))
        elif error.upload and error.kind in REFUSALS:
            self._refused(range_, error)

    def _refused(self, range_: Range, error: WorkError) -> None:
        """Decide anew about a partition when its intent is for another place than ours, and that refuses it."""
        promise, partition, snapshots = self.states.promise_of(range_), range_.partition, self.resolver.snapshots
        if promise is None or not snapshots.stores_elsewhere(promise.intent) or self.states.running([partition]):
            return
        if self.states.failures(partition) >= MOST_REFUSALS:
            snapshots.give_up(promise.intent, error.message)
            self.states.step(partition, Reconsider())

    def _commit_progress(self) -> None:
        commits = self.states.writes()
        if not commits:
            return
        kept = self.committer.commit_progress(commits)
        self._report_stored({partition: commits[partition].committed.offset for partition in kept})
        self._release(except_for=self.states.writes())
        self._refresh_soon = True

    def _report_stored(self, positions: Mapping[TopicPartition, Offset]) -> None:
        final = sorted(r for r in self._outcomes if r.end <= positions.get(r.partition, 0))
        self._listener.stored([self._outcomes.pop(range_) for range_ in final])

    def _release(self, except_for: Mapping[TopicPartition, Commit]) -> None:
        """Let revocations go on that waited for ranges which have ended and are committed."""
        self._dependencies.group.release(
            p for p in self.states.owned() if p not in except_for and not self.states.running([p])
        )

    def _log_holds(self) -> None:
        held = self.states.held()
        for partition in sorted(held.keys() - self._logged_holds):
            hold = held[partition]
            where = {"topic": partition.topic, "partition": partition.partition}
            log.error("partition.held", **where, reason=hold.reason, message=hold.message)
        self._logged_holds = set(held)

    # end offsets, plan, promise

    def _refresh_end_offsets(self) -> None:
        self._refreshed_at = self._clock()
        self._refresh_soon = False
        for partition, hold in self.end_offsets.refresh(ages=self.targets is None).items():
            self.states.hold(partition, hold)

    def _plan(self) -> list[Intent]:
        """Return the intents that are due, oldest backlog first, no more than may wait for a place."""
        idle = self.states.idle()
        behind = [partition for partition, position in idle.items() if self.end_offsets.backlog(partition, position)]
        behind.sort(key=self.end_offsets.waiting_since)
        room = QUEUED_RANGES_PER_CORE * self._dependencies.jobs.cores - self._full_ranges_waiting()
        planned: dict[TopicPartition, tuple[Offset, ...]] = {}
        for partition in behind:
            if room <= 0:
                self._refresh_soon = True
                break
            ends = self._due(partition, idle[partition], min(PLANNED_RANGES, room))
            if ends:
                planned[partition] = ends
                room -= len(ends) - 1
        return self._with_first_record({p: planned[p] for p in self._looked_ahead(planned)})

    def _full_ranges_waiting(self) -> int:
        """Count promised ranges that are not the last of their intent: those were cut because they are full.

        What is held or fails may stay promised for ever, and must not keep the others from being promised.
        """
        return sum(
            len(intent.ends) - 1 for intent in self.states.pending() if not self.states.is_stuck(intent.partition)
        )

    def _due(self, partition: TopicPartition, position: Offset, most: int) -> tuple[Offset, ...]:
        end = self.resolver.output_revisions.limited(partition, position, self.end_offsets.ends[partition])
        if self.targets is not None:
            end = min(end, self.targets.get(partition, 0))
        cut = self.cut_behind(partition, position)
        if cut is not None:
            end = min(end, cut)
        aged = self.targets is not None or self.end_offsets.is_aged(partition)
        if end > position and not self.sizing.is_sampled(partition, position):
            return ()
        max_bytes = self._resource.spec.limits_of(partition.topic).max_bytes
        bytes_per_offset = self.sizing.sizes.bytes_per_offset(partition.topic)
        return due(Backlog(position, end, aged), max_bytes, bytes_per_offset, most)

    def _looked_ahead(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Return the partitions behind whose position nothing is stored; ask the bucket where it was not asked yet."""
        wanted = list(partitions)
        idle = self.states.idle()
        unknown = {partition: idle[partition] for partition in wanted if not self.states.looked_ahead(partition)}
        found = self._dependencies.state_store.ahead(unknown, self._resource.spec.generation) if unknown else {}
        suspicious = {
            partition: self.states.value(partition) for partition, start in found.items() if start is not None
        }
        unmoved = self.resolver.still_standing(suspicious)
        # An object that a zombie has stored of an earlier topic of the name is no sign that a commit was lost.
        same_topic, made_again = self.topic_bindings.judge({p: self.states.topic_id(p) for p in unmoved})
        for partition, hold in made_again.items():
            self.states.hold(partition, hold)
        for partition, start in found.items():
            if isinstance(start, StorageError):
                log.warning("partition.not_looked_at", topic=partition.topic, error=str(start))
            elif start is None or partition in same_topic:
                self.states.step(partition, LookedAhead(start))
        return [partition for partition in wanted if self.states.looked_ahead(partition)]

    def _with_first_record(self, planned: Mapping[TopicPartition, tuple[Offset, ...]]) -> list[Intent]:
        """Make intents of planned ends where Kafka still has the first record; elsewhere, of what is lost."""
        if not planned:
            return []
        idle, spec = self.states.idle(), self._resource.spec
        log_starts = self._dependencies.offsets.log_starts(planned).values
        revisions = self._revisions(planned)
        topics = {partition.topic for partition in revisions}
        horizons = self._dependencies.horizons.now(topics)
        self._refresh_soon |= len(horizons) < len(topics)
        # Asked after the log starts: a topic that was made again may begin later, too, and that is no loss.
        made_again = self.end_offsets.recreated([p for p, log_start in log_starts.items() if log_start > idle[p]])
        intents: list[Intent] = []
        for partition, log_start in log_starts.items():
            position, ends, unstored = idle[partition], planned[partition], None
            revision = revisions.get(partition)
            if revision is None or partition.topic not in horizons:
                continue
            if partition in made_again:
                self.states.hold(partition, made_again[partition])
                continue
            if log_start > position:
                if not self.losses.accepts(partition, position, log_start):
                    continue
                ends, unstored = (log_start,), UnstoredPrefix(log_start, "lost")
            topic_id = self.states.topic_id(partition)
            place, horizon = spec.storage.place, horizons[partition.topic]
            intents.append(
                Intent(partition, topic_id, position, ends, revision, spec.generation, place, unstored, horizon)
            )
        return intents

    def _revisions(self, planned: Mapping[TopicPartition, tuple[Offset, ...]]) -> dict[TopicPartition, str]:
        """Return the revision for what is planned; partitions are missing that have to wait, or are held from now on.

        Registers and end offsets were read before this, so no schema is asked for before the records are known.
        """
        ends = {partition: last for partition, (*_, last) in planned.items()}
        values = {partition: self.states.value(partition) for partition in planned}
        found = self.resolver.output_revisions.of(ends, self.end_offsets.ends, values)
        for topic, error in self.resolver.output_revisions.take_errors().items():
            waits = min((partition for partition in planned if partition.topic == topic), default=None)
            if waits is None:  # of a promise that is made anew; it is asked for again
                log.warning("topic.waits", topic=topic, error=error.message)
                continue
            range_ = Range(waits, self.states.idle()[waits], ends[waits])
            self._listener.failed(range_, error)
        for partition, revision in found.items():
            if isinstance(revision, Hold):
                self.states.hold(partition, revision)
        return {partition: revision for partition, revision in found.items() if isinstance(revision, str)}

    def _promise(self, intents: list[Intent]) -> None:
        values = {intent.partition: written(self.states.step(intent.partition, Due(intent))) for intent in intents}
        self.committer.promise({partition: value for partition, value in values.items() if value is not None})
        self._refresh_soon |= self.losses.record()
