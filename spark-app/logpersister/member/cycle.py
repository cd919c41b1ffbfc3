"""One round of a member: look, plan, promise, run, commit.

Decisions are those of `logpersister.plan`; this module asks the world, tells it what was decided, and keeps the order
that the promise rests on (docs/design/intents.md): the snapshot of a revision before its first intent, an intent before
any byte of its ranges, the end of a range after all of its objects.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.revision import Revision
from logpersister.member.arrivals import Arrivals
from logpersister.member.claims import TopicClaims
from logpersister.member.execution import Ended, Execution
from logpersister.member.listener import Listener
from logpersister.member.look import Outlook
from logpersister.member.ports import World
from logpersister.member.telling import TellingMemory
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.plan import holds
from logpersister.plan.book import Book, Commit
from logpersister.plan.holds import Hold
from logpersister.plan.intents import PLANNED_RANGES, Intent
from logpersister.plan.planner import Backlog, due
from logpersister.plan.sizes import Sizes
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import REFUSALS

log = structlog.get_logger(__name__)

BUSY_SECONDS = 0.2
"""Least time between two looks while a backlog is being worked off."""
QUEUED_RANGES_PER_CORE = 8
"""Full-size ranges that may be promised and not yet running: what a change of generation must wait for."""
MOST_REFUSALS = 3
"""By another place than ours, in a row, until what was promised for it is kept in ours."""
SAMPLE_HALF_LIFE = 1 << 40
"""A sample is only a first guess: whatever is really written outweighs it."""
SAMPLE_AGAIN_SECONDS = 60.0
"""A topic that could not be sampled (no right to read it, no record yet) must not take the time of the others."""


class Cycle:
    """The rounds of one member. Single-threaded: only jobs, commits and the group run elsewhere."""

    def __init__(
        self,
        resource: LogPersister,
        revision: Revision,
        world: World,
        *,
        listener: Listener | None = None,
        wake: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Begin with nothing owned.

        Args:
            resource: the manifest.
            revision: its revision.
            world: Kafka, S3 and Spark.
            listener: is told what happens.
            wake: set when a job has ended.
            clock: monotonic seconds.
            now: seconds since the epoch.
        """
        self._listener = listener or Listener()
        world = replace(
            world, memory=TellingMemory(world.memory, resource.spec.storage.place, self._listener.bucket_failed)
        )
        self._resource = resource
        self._revision = revision
        self._world = world
        self._clock = clock
        self.book = Book()
        self.sizes = Sizes()
        self.outlook = Outlook(resource, self.book, world.offsets, clock=clock, now=now)
        self.arrivals = Arrivals(resource, revision, self.book, world, clock=clock)
        self.execution = Execution(
            resource.group_id, self.book, world, self.sizes, wake or threading.Event(), clock=clock
        )
        self._outcomes: dict[Range, RangeOutcome] = {}
        self._sample_at: dict[str, float] = {}
        self._revision_stored = False
        self._claims = TopicClaims(world.memory, resource.spec.generation)
        self._looked_at = float("-inf")
        self._look_soon = True
        self.targets: Mapping[TopicPartition, Offset] | None = None
        """With ``--until-current``: where each partition's work ends; everything before it is due at once."""

    def turn(self, *, promising: bool = True) -> None:
        """Do one round. Without ``promising`` nothing new begins: what runs is only taken in and committed."""
        self._own()
        self._take_ended()
        self._commit_stored()
        if not promising:
            return
        self._look_soon |= self.arrivals.resolve()
        if self._clock() - self._looked_at >= self._look_interval():
            self._look()
            self._promise(self._plan())
        self.execution.start(self.arrivals.revisions.documents)

    def seconds_to_next(self) -> float:
        """Return how long nothing needs to be done, unless a job ends."""
        until_look = self._looked_at + self._look_interval() - self._clock()
        unfinished = self.book.unresolved() or self.book.pending()
        return max(0.0, min(until_look, 1.0) if unfinished else until_look)

    def _look_interval(self) -> float:
        return BUSY_SECONDS if self._look_soon else self._resource.spec.cycle_interval.total_seconds()

    # own, take in, commit

    def _own(self) -> None:
        tokens = self._world.group.ownership()
        if tokens.keys() - set(self.book.owned()):
            self._look_soon = True
        gone = set(self.book.own(tokens))
        if not gone:
            return
        for partition in gone:
            self.outlook.forget(partition)
            self.execution.log_starts.pop(partition, None)
        self._outcomes = {r: outcome for r, outcome in self._outcomes.items() if r.partition not in gone}
        self._look_soon = True

    def _take_ended(self) -> None:
        failed: list[tuple[Ended, WorkError]] = []
        for ended in self.execution.take_ended():
            if ended.outcome.error is None:
                self._take_stored(ended)
            else:
                self.book.ended(ended.outcome.range, ended.token, stored=False, retry_at=self.execution.backoff)
                failed.append((ended, ended.outcome.error))
        self._let_go(except_for=self.book.commits())
        for ended, error in failed:  # last, because a loss is recorded in the bucket, and that may fail
            self._take_failed(ended, error)

    def _take_stored(self, ended: Ended) -> None:
        range_, topic = ended.outcome.range, ended.outcome.range.partition.topic
        limits = self._resource.spec.upload.for_topic(topic)
        stored_bytes = ended.outcome.stored_bytes
        self.sizes.learn(topic, offsets=range_.offsets, stored_bytes=stored_bytes, half_life_bytes=limits.max_bytes)
        self.book.ended(range_, ended.token, stored=True)
        if self.book.token(range_.partition) == ended.token:
            self._outcomes[range_] = ended.outcome

    def _take_failed(self, ended: Ended, error: WorkError) -> None:
        range_ = ended.outcome.range
        self._listener.failed(range_, error)
        if self.book.token(range_.partition) != ended.token:
            return
        if error.kind == "data-lost" and error.log_start is not None:
            self._lost_in_intent(range_.partition, error.log_start)
        elif error.kind == "topic-recreated":
            known = self.book.topic_id(range_.partition)
            self._hold(range_.partition, holds.topic_recreated(range_.partition, known, "another one"))
        elif error.upload and error.kind in REFUSALS:
            self._refused(range_, error)

    def _refused(self, range_: Range, error: WorkError) -> None:
        """Decide anew about a partition when its intent is for another place than ours, and that refuses it."""
        intent, partition = self.book.intent_of(range_), range_.partition
        if intent is None or not self.arrivals.revisions.stores_elsewhere(intent) or self.book.running([partition]):
            return
        if self.book.failures(partition) >= MOST_REFUSALS:
            self.arrivals.revisions.give_up(intent, error.message)
            self.book.doubt(partition)

    def _commit_stored(self) -> None:
        commits = self.book.commits()
        if not commits:
            return
        started = time.perf_counter()
        sent = self._world.group.commit(commits, promise=False)
        self._listener.committing("keep", time.perf_counter() - started, sent.failed)
        for partition in sent.committed:
            self.book.committed(partition, commits[partition])
            if self.book.is_of_higher_generation(partition, self._resource.spec.generation):
                self.book.doubt(partition)  # an intent of theirs is done; whether we may go on, the bucket tells
        self._tell_stored({partition: commits[partition].committed.offset for partition in sent.committed})
        self._doubt(sent.failed)
        self._let_go(except_for=self.book.commits())
        self._look_soon = True

    def _tell_stored(self, positions: Mapping[TopicPartition, Offset]) -> None:
        final = sorted(r for r in self._outcomes if r.end <= positions.get(r.partition, 0))
        self._listener.stored([self._outcomes.pop(range_) for range_ in final])

    def _doubt(self, failed: Mapping[TopicPartition, Exception]) -> None:
        """Ask Kafka again where partitions stand: it is not known whether their commits arrived."""
        for partition, error in failed.items():
            log.warning("commit.failed", topic=partition.topic, partition=partition.partition, error=repr(error))
            self.book.doubt(partition)

    def _let_go(self, except_for: Mapping[TopicPartition, Commit] | None = None) -> None:
        """Let revocations go on that waited for ranges which have ended and are committed."""
        keep = except_for or {}
        self._world.group.let_go(p for p in self.book.owned() if p not in keep and not self.book.running([p]))

    # look, plan, promise

    def _look(self) -> None:
        self._looked_at = self._clock()
        self._look_soon = False
        for partition, hold in self.outlook.look(ages=self.targets is None).items():
            self._hold(partition, hold)

    def _plan(self) -> list[Intent]:
        """Return the intents that are due, oldest backlog first, no more than may wait for a place."""
        idle = self.book.idle()
        behind = [partition for partition, position in idle.items() if self.outlook.backlog(partition, position)]
        behind.sort(key=self.outlook.waiting_since)
        room = QUEUED_RANGES_PER_CORE * self._world.jobs.cores - self._full_ranges_waiting()
        planned: dict[TopicPartition, tuple[Offset, ...]] = {}
        for partition in behind:
            if room <= 0:
                self._look_soon = True
                break
            ends = self._due(partition, idle[partition], min(PLANNED_RANGES, room))
            if ends:
                planned[partition] = ends
                room -= len(ends) - 1
        return self._with_first_record(planned)

    def _full_ranges_waiting(self) -> int:
        """Count promised ranges that are not the last of their intent: those were cut because they are full.

        What is held or fails may stay promised for ever, and must not keep the others from being promised.
        """
        return sum(len(intent.ends) - 1 for intent in self.book.pending() if not self.book.is_stuck(intent.partition))

    def _due(self, partition: TopicPartition, position: Offset, most: int) -> tuple[Offset, ...]:
        boundaries = self.book.boundaries(partition)
        if boundaries:
            return boundaries
        end = self.outlook.ends[partition]
        if self.targets is not None:
            end = min(end, self.targets.get(partition, 0))
        aged = self.targets is not None or self.outlook.is_aged(partition)
        wants_sample = self._clock() >= self._sample_at.get(partition.topic, 0.0)
        if end > position and wants_sample and not self.sizes.knows(partition.topic):
            self._sample(partition, position)
        max_bytes = self._resource.spec.upload.for_topic(partition.topic).max_bytes
        return due(Backlog(position, end, aged), max_bytes, self.sizes.bytes_per_offset(partition.topic), most)

    def _sample(self, partition: TopicPartition, position: Offset) -> None:
        self._sample_at[partition.topic] = self._clock() + SAMPLE_AGAIN_SECONDS
        try:
            sample = self._world.sampler.sample(partition, position)
        except Exception as error:  # without a sample the first ranges are only sized less well
            log.warning("topic.not_sampled", topic=partition.topic, error=repr(error))
            return
        if sample is not None:
            offsets, stored_bytes = sample
            self.sizes.learn(
                partition.topic, offsets=offsets, stored_bytes=stored_bytes, half_life_bytes=SAMPLE_HALF_LIFE
            )

    def _with_first_record(self, planned: Mapping[TopicPartition, tuple[Offset, ...]]) -> list[Intent]:
        """Make intents of planned ends where Kafka still has the first record; elsewhere it is lost.

        What somebody has promised for another place stays promised as it is: its execution finds what is lost.
        """
        if not planned:
            return []
        idle = self.book.idle()
        generation = self._resource.spec.generation
        intents: list[Intent] = []
        for partition, log_start in self._world.offsets.log_starts(planned).values.items():
            position, ends = idle[partition], planned[partition]
            if log_start > position and not self.book.boundaries(partition):
                self._lost_before(partition, position, log_start)
            else:
                topic_id = self.book.topic_id(partition)
                place = self._resource.spec.storage.place
                intents.append(Intent(partition, topic_id, position, ends, self._revision.hash, generation, place))
        return intents

    def _promise(self, intents: list[Intent]) -> None:
        foreign = self._claims.foreign(intents)
        for partition, hold in foreign.items():
            self._hold(partition, hold)
        intents = [intent for intent in intents if intent.partition not in foreign]
        if not intents:
            return
        if not self._revision_stored:
            self._world.memory.put_revision(self._revision.hash, self._revision.document)
            self._revision_stored = True
        promises = {intent.partition: intent for intent in intents}
        commits = {partition: self.book.promise(intent) for partition, intent in promises.items()}
        started = time.perf_counter()
        sent = self._world.group.commit(commits, promise=True)
        self._listener.committing("promise", time.perf_counter() - started, sent.failed)
        for partition in sent.committed:
            self.book.promised(promises[partition])
        self._doubt(sent.failed)

    def _lost_before(self, partition: TopicPartition, position: Offset, log_start: Offset) -> None:
        """An idle partition's next records are gone."""
        if not self._accept_loss(partition, position, log_start):
            return
        sent = self._world.group.commit({partition: self.book.promise_position(partition, log_start)}, promise=True)
        if partition in sent.committed:
            self.book.move(partition, log_start)
        self._doubt(sent.failed)
        self._look_soon = True

    def _lost_in_intent(self, partition: TopicPartition, log_start: Offset) -> None:
        """Records of promised ranges are gone."""
        position = self.book.positions().get(partition)
        if position is not None and self._accept_loss(partition, position, log_start):
            self.execution.log_starts[partition] = log_start
            self.book.give_up_before(partition, log_start)

    def _accept_loss(self, partition: TopicPartition, start: Offset, end: Offset) -> bool:
        """Hold the partition, or record the loss durably and return True: by ``onDataLoss``."""
        skip = self._resource.spec.kafka.on_data_loss == "skip"
        if skip:
            self._world.memory.record_loss(partition, self.book.topic_id(partition), start, end, "lost")
            log.error("data.lost", topic=partition.topic, partition=partition.partition, start=start, end=end)
        else:
            self._hold(partition, holds.data_lost(partition, start, end))
        self._listener.lost(partition, start, end, skipped=skip)
        return skip

    def _hold(self, partition: TopicPartition, hold: Hold) -> None:
        self.book.hold(partition, hold)
        log.error(
            "partition.held",
            topic=partition.topic,
            partition=partition.partition,
            reason=hold.reason,
            message=hold.message,
        )
