"""One round of a member: look, plan, promise, run, commit.

Decisions are those of `logpersister.plan`; this module asks the world, tells it what was decided, and keeps the order
that the promise rests on (docs/design/intents.md): the snapshot of a revision before its first intent, an intent before
any byte of its ranges, the end of a range after all of its objects.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.revision import Revision
from logpersister.member.arrivals import Arrivals
from logpersister.member.execution import Ended, Execution
from logpersister.member.ports import Group, Jobs, Memory, Offsets, Sampler
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.plan.age import AgeWatch
from logpersister.plan.book import Book
from logpersister.plan.intents import PLANNED_RANGES, Intent
from logpersister.plan.planner import Backlog, due
from logpersister.plan.recovery import Hold, HoldReason, same_topic
from logpersister.plan.sizes import Sizes
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.report.lag import PartitionLag
from logpersister.report.metrics import CommitStep

log = structlog.get_logger(__name__)

DESCRIBE_SECONDS = 15.0
"""How often topic ids are compared with what they were."""
TRUNCATED_SECONDS = 60.0
"""How long a partition may end before its committed offset; a new leader catches up within that."""
BUSY_SECONDS = 0.2
"""Least time between two looks while a backlog is being worked off."""
QUEUED_JOBS = 8
"""Full-size ranges, per core, that may be promised but not yet running: what a change of generation must wait for."""


@dataclass(slots=True)
class Seen:
    """What the last look saw, for reports."""

    ends: dict[TopicPartition, Offset] = field(default_factory=dict)
    unreadable: dict[str, Exception] = field(default_factory=dict)
    """Topics whose offsets could not be read."""


class Listener:
    """What a member tells about itself; by default nobody listens."""

    def stored(self, outcome: RangeOutcome) -> None:
        """A range is durable and committed."""

    def failed(self, range_: Range, error: WorkError) -> None:
        """A range failed and will be tried again."""

    def lost(self, partition: TopicPartition, start: Offset, end: Offset, *, skipped: bool) -> None:
        """Kafka had deleted records before they were stored."""

    def committing(self, step: CommitStep, seconds: float, failed: Mapping[TopicPartition, Exception]) -> None:
        """A batch of commits was answered."""


class Cycle:
    """The rounds of one member. Single-threaded: only jobs, commits and the group run elsewhere."""

    def __init__(
        self,
        resource: LogPersister,
        revision: Revision,
        group: Group,
        offsets: Offsets,
        memory: Memory,
        jobs: Jobs,
        sampler: Sampler,
        listener: Listener | None = None,
        wake: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._resource = resource
        self._revision = revision
        self._group = group
        self._offsets = offsets
        self._memory = memory
        self._sampler = sampler
        self._listener = listener or Listener()
        self._clock = clock
        self._now = now
        self.book = Book()
        self.sizes = Sizes()
        self.ages = AgeWatch()
        self.seen = Seen()
        self.arrivals = Arrivals(resource, revision, self.book, group, offsets, memory, clock)
        self.execution = Execution(
            resource.group_id, self.book, group, jobs, self.sizes, wake or threading.Event(), clock
        )
        self._jobs = jobs
        self._outcomes: dict[Range, RangeOutcome] = {}
        self._revision_stored = False
        self._described_at = -DESCRIBE_SECONDS
        self._looked_at = float("-inf")
        self._look_soon = True
        self._short_since: dict[TopicPartition, float] = {}
        self.targets: Mapping[TopicPartition, Offset] | None = None
        """With ``--until-current``: where each partition's work ends; everything before it is due at once."""

    def turn(self, *, promising: bool = True) -> None:
        """Do one round. Without ``promising`` nothing new begins: what runs is only taken in and committed."""
        self._own()
        self._take_ended()
        self._commit_stored()
        if not promising:
            return
        self.arrivals.resolve()
        if self._time_to_look():
            self._look()
            self._promise(self._plan())
        self.execution.start(self.arrivals.revisions)

    def seconds_to_next(self) -> float:
        """Return how long nothing needs to be done, unless a job ends."""
        interval = self._resource.spec.cycle_interval.total_seconds()
        waiting = min(interval, 1.0) if self.book.unresolved() or self.book.pending() else interval
        wanted = BUSY_SECONDS if self._look_soon else waiting
        return max(0.0, min(self._looked_at + wanted - self._clock(), waiting))

    # own, take in, commit

    def _own(self) -> None:
        for partition in self.book.own(self._group.ownership()):
            self.ages.forget(partition)
            self.seen.ends.pop(partition, None)
            self._short_since.pop(partition, None)
            self.execution.log_starts.pop(partition, None)
            self._look_soon = True

    def _take_ended(self) -> None:
        for ended in self.execution.take_ended():
            if ended.outcome.error is None:
                self._take_stored(ended)
            else:
                self._take_failed(ended, ended.outcome.error)
        idle = [p for p in self.book.owned() if not self.book.running([p])]
        ready = self.book.commits()
        self._group.let_go(p for p in idle if p not in ready)

    def _take_stored(self, ended: Ended) -> None:
        outcome = ended.outcome
        topic = outcome.range.partition.topic
        limits = self._resource.spec.upload.for_topic(topic)
        self.sizes.learn(
            topic, offsets=outcome.range.offsets, stored_bytes=outcome.stored_bytes, half_life_bytes=limits.max_bytes
        )
        self.book.ended(outcome.range, ended.token, stored=True)
        if self.book.token(outcome.range.partition) == ended.token:
            self._outcomes[outcome.range] = outcome

    def _take_failed(self, ended: Ended, error: WorkError) -> None:
        range_ = ended.outcome.range
        self.book.ended(range_, ended.token, stored=False, retry_at=self.execution.backoff)
        self._listener.failed(range_, error)
        if self.book.token(range_.partition) != ended.token:
            return
        if error.kind == "data-lost" and error.log_start is not None:
            self._lost_in_intent(range_.partition, error.log_start)
        elif error.kind == "topic-recreated":
            self._hold(range_.partition, HoldReason.TOPIC_RECREATED, error.message)

    def _commit_stored(self) -> None:
        commits = self.book.commits()
        if not commits:
            return
        started = time.perf_counter()
        sent = self._group.commit(commits, promise=False)
        self._listener.committing("keep", time.perf_counter() - started, sent.failed)
        for partition in sent.committed:
            before = self.book.positions()[partition]
            self.book.committed(partition, commits[partition])
            self._report_stored(partition, before, commits[partition].committed.offset)
        for partition, error in sent.failed.items():
            log.warning("commit.failed", topic=partition.topic, partition=partition.partition, error=repr(error))
            self.book.doubt(partition)
        self._group.let_go(p for p in commits if not self.book.running([p]))
        self._look_soon = True

    def _report_stored(self, partition: TopicPartition, before: Offset, after: Offset) -> None:
        done = [r for r in self._outcomes if r.partition == partition and before <= r.start and r.end <= after]
        for range_ in sorted(done):
            self._listener.stored(self._outcomes.pop(range_))

    # look

    def _time_to_look(self) -> bool:
        interval = self._resource.spec.cycle_interval.total_seconds()
        least = BUSY_SECONDS if self._look_soon else interval
        return self._clock() - self._looked_at >= least

    def _look(self) -> None:
        """See where the owned partitions end, how old their backlog is, and whether their topics are still the same."""
        self._looked_at = self._clock()
        self._look_soon = False
        positions = self.book.positions()
        if not positions:
            return
        self._compare_topic_ids()
        answer = self._offsets.ends(positions)
        self.seen = Seen(answer.values, answer.errors)
        now = self._now()
        for partition, end in answer.values.items():
            self._watch_truncation(partition, positions[partition], end)
            self.ages.observe(partition, positions[partition], end, now)
        self._ask_ages(positions)

    def _compare_topic_ids(self) -> None:
        if self._clock() - self._described_at < DESCRIBE_SECONDS:
            return
        self._described_at = self._clock()
        owned = [p for p in self.book.owned() if p not in self.book.held()]
        topics = self._offsets.describe({partition.topic for partition in owned})
        for partition in owned:
            known, found = self.book.topic_id(partition), topics.get(partition.topic)
            if found is not None and known is not None and not same_topic(known, found.topic_id):
                message = (
                    f"topic {partition.topic!r} was deleted and made again while generation {self._resource.spec.generation} was being "
                    "written; its offsets began anew: raise spec.generation, or change spec.storage.prefix"
                )
                self._hold(partition, HoldReason.TOPIC_RECREATED, message)

    def _watch_truncation(self, partition: TopicPartition, position: Offset, end: Offset) -> None:
        if end >= position:
            self._short_since.pop(partition, None)
            return
        since = self._short_since.setdefault(partition, self._clock())
        if self._clock() - since >= TRUNCATED_SECONDS and partition not in self.book.held():
            message = (
                f"{partition} ends at {end}, before the committed offset {position}: Kafka has lost records that are stored (an unclean "
                "leader election, or a deleted topic); raise spec.generation and reset the group's offset to what Kafka still has"
            )
            self._hold(partition, HoldReason.TRUNCATED, message)

    def _ask_ages(self, positions: Mapping[TopicPartition, Offset]) -> None:
        """Ask Kafka once for each new backlog whether its oldest record has already reached its age."""
        now_ms = int(self._now() * 1000)
        asked = {
            p: now_ms - int(self._resource.spec.upload.for_topic(p.topic).max_age.total_seconds() * 1000)
            for p in self.ages.unasked()
        }
        if not asked or self.targets is not None:
            return
        for partition, first in self._offsets.first_since(asked).values.items():
            position = positions[partition]
            if first is None or first[0] > position:
                self.ages.learn(partition, asked[partition] / 1000)
            elif first[0] == position:
                self.ages.learn(partition, first[1] / 1000)
            else:  # an earlier record is newer than that: the timestamps are out of order and tell nothing
                self.ages.learn(partition, None)

    # plan and promise

    def _plan(self) -> list[Intent]:
        """Return the intents that are due, oldest backlog first, no more than may wait for a place."""
        idle = self.book.idle()
        behind = [p for p in idle if self.seen.ends.get(p, 0) > idle[p]]
        behind.sort(key=lambda p: self.ages.oldest(p) or 0.0)
        room = QUEUED_JOBS * self._jobs.cores - sum(len(intent.ends) for intent in self.book.pending())
        planned: dict[TopicPartition, tuple[Offset, ...]] = {}
        for partition in behind:
            ends = self._due(partition, idle[partition], max(1, min(PLANNED_RANGES, room)))
            if not ends:
                continue
            limits = self._resource.spec.upload.for_topic(partition.topic)
            size = self.sizes.estimate(partition.topic, ends[-1] - idle[partition])
            room -= max(0, min(len(ends), size // limits.max_bytes))
            planned[partition] = ends
            if room <= 0:
                self._look_soon = True
                break
        return self._intents(planned)

    def _due(self, partition: TopicPartition, position: Offset, most: int) -> tuple[Offset, ...]:
        end = self.seen.ends[partition]
        limits = self._resource.spec.upload.for_topic(partition.topic)
        if self.targets is not None:
            end, aged = min(end, self.targets.get(partition, 0)), True
        else:
            aged = self.ages.aged(partition, limits.max_age.total_seconds(), self._now())
        if end > position:
            self._learn_size(partition, position)
        return due(Backlog(position, end, aged), limits.max_bytes, self.sizes.bytes_per_offset(partition.topic), most)

    def _learn_size(self, partition: TopicPartition, position: Offset) -> None:
        if self.sizes.knows(partition.topic):
            return
        try:
            sample = self._sampler.sample(partition, position)
        except Exception as error:  # without a sample the first ranges are only sized less well
            log.warning("topic.not_sampled", topic=partition.topic, error=repr(error))
            return
        if sample is not None:
            offsets, stored_bytes = sample
            self.sizes.learn(partition.topic, offsets=offsets, stored_bytes=stored_bytes, half_life_bytes=1 << 40)

    def _intents(self, planned: Mapping[TopicPartition, tuple[Offset, ...]]) -> list[Intent]:
        """Make intents of planned ends, after a look whether Kafka still has the first record of each."""
        if not planned:
            return []
        idle = self.book.idle()
        log_starts = self._offsets.log_starts(planned).values
        intents: list[Intent] = []
        for partition, ends in planned.items():
            log_start = log_starts.get(partition)
            if log_start is None:
                continue
            if log_start > idle[partition]:
                self._lost_before(partition, idle[partition], log_start)
                continue
            topic_id, generation = self.book.topic_id(partition), self._resource.spec.generation
            intents.append(Intent(partition, topic_id, idle[partition], ends, self._revision.hash, generation))
        return intents

    def _promise(self, intents: Iterable[Intent]) -> None:
        promises = {intent.partition: intent for intent in intents}
        if not promises:
            return
        if not self._revision_stored:
            self._memory.put_revision(self._revision.hash, self._revision.document)
            self._revision_stored = True
        commits = {partition: self.book.promise(intent) for partition, intent in promises.items()}
        started = time.perf_counter()
        sent = self._group.commit(commits, promise=True)
        self._listener.committing("promise", time.perf_counter() - started, sent.failed)
        for partition in sent.committed:
            self.book.promised(promises[partition])
        for partition, error in sent.failed.items():
            log.warning("promise.failed", topic=partition.topic, partition=partition.partition, error=repr(error))
            self.book.doubt(partition)

    # loss

    def _lost_before(self, partition: TopicPartition, position: Offset, log_start: Offset) -> None:
        """An idle partition's next records are gone."""
        if self._resource.spec.kafka.on_data_loss == "fail":
            self._hold_lost(partition, position, log_start)
            return
        self._record_loss(partition, position, log_start)
        commit = self.book.promise_position(partition, log_start)
        sent = self._group.commit({partition: commit}, promise=True)
        if partition in sent.committed:
            self.book.move(partition, log_start)
        elif partition in sent.failed:
            self.book.doubt(partition)
        self._look_soon = True

    def _lost_in_intent(self, partition: TopicPartition, log_start: Offset) -> None:
        """Records of promised ranges are gone."""
        position = self.book.positions()[partition]
        if self._resource.spec.kafka.on_data_loss == "fail":
            self._hold_lost(partition, position, log_start)
            return
        self._record_loss(partition, position, log_start)
        self.execution.log_starts[partition] = log_start
        self.book.give_up_before(partition, log_start)

    def _hold_lost(self, partition: TopicPartition, position: Offset, log_start: Offset) -> None:
        self._listener.lost(partition, position, log_start, skipped=False)
        message = (
            f"Kafka has deleted offsets [{position}, {log_start}) of {partition} before they were stored; set spec.kafka.onDataLoss to skip "
            "to record the loss and go on, or set the group's offset yourself"
        )
        self._hold(partition, HoldReason.DATA_LOST, message)

    def _record_loss(self, partition: TopicPartition, start: Offset, end: Offset) -> None:
        self._memory.record_loss(partition, self.book.topic_id(partition), start, end, "lost")
        self._listener.lost(partition, start, end, skipped=True)
        log.error("data.lost", topic=partition.topic, partition=partition.partition, start=start, end=end)

    def _hold(self, partition: TopicPartition, reason: HoldReason, message: str) -> None:
        self.book.hold(partition, Hold(reason, message))
        log.error(
            "partition.held", topic=partition.topic, partition=partition.partition, reason=reason, message=message
        )

    # reports

    def lags(self) -> list[PartitionLag]:
        """Return where every resolved partition stands, by the last look."""
        now = self._now()
        return [
            PartitionLag(
                p, position, self.seen.ends[p], now - oldest if (oldest := self.ages.oldest(p)) is not None else 0.0
            )
            for p, position in self.book.positions().items()
            if p in self.seen.ends
        ]
