"""How the member goes on with partitions that the group just gave it: one look at Kafka, if need be at the bucket."""

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.kafka import parse_time
from logpersister.manifest.revision import Revision
from logpersister.member.ports import World
from logpersister.member.revisions import Revisions, Way
from logpersister.plan import holds
from logpersister.plan.book import Book, Commit
from logpersister.plan.holds import Hold
from logpersister.plan.intents import PLANNED_RANGES, Committed, UnknownMarkError, promised, stored
from logpersister.plan.recovery import (
    Decision,
    Execute,
    Resume,
    StoredRange,
    Subject,
    from_another_place,
    from_bucket,
    from_commit,
    needs_inventory,
)
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.lines import log_each
from logpersister.storage.facts import ForeignObjectError

log = structlog.get_logger(__name__)

RETRY_SECONDS = 2.0


class Arrivals:
    """Resolves partitions: unresolved ones of the book become idle, promised or held."""

    def __init__(
        self,
        resource: LogPersister,
        revision: Revision,
        book: Book,
        world: World,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resource = resource
        self._revision = revision
        self._book = book
        self._group = world.group
        self._offsets = world.offsets
        self._memory = world.memory
        self._clock = clock
        self._retry_at = 0.0
        self.revisions = Revisions(revision, resource.spec.storage.place, world.memory)
        self.begin_at: Callable[[Collection[TopicPartition]], Mapping[TopicPartition, Offset | None]] | None = None
        """In shadow mode: where partitions without a trace begin; None for one: as the manifest says."""

    def resolve(self) -> bool:
        """Resolve what can be resolved now, and return whether anything was; the rest is tried again."""
        unresolved = self._book.unresolved()
        if not unresolved or self._clock() < self._retry_at:
            return False
        try:
            self._resolve(unresolved)
        except Exception as error:  # Kafka or S3 does not answer; nothing is decided without them
            self._try_later(unresolved, repr(error))
            return False
        left = self._book.unresolved()
        if left:
            self._try_later(left, "Kafka does not tell of their topics or has not taken a commit, or a bucket is away")
        return len(left) < len(unresolved)

    def _try_later(self, unresolved: Sequence[TopicPartition], error: str) -> None:
        self._retry_at = self._clock() + RETRY_SECONDS * random.uniform(0.5, 1.5)
        topics = sorted({partition.topic for partition in unresolved})
        log.warning("partitions.unresolved", partitions=len(unresolved), topics=topics[:10], error=error)

    def _resolve(self, partitions: Sequence[TopicPartition]) -> None:
        topics = self._offsets.describe({partition.topic for partition in partitions})
        known = [partition for partition in partitions if partition.topic in topics]
        ids = {partition: topics[partition.topic].topic_id for partition in known}
        commits = self._offsets.committed(known)
        decisions: dict[TopicPartition, Decision] = {}
        unmarked: dict[TopicPartition, Committed | None] = {}
        for partition in set(known) & commits.keys():
            committed = commits[partition]
            if isinstance(committed, UnknownMarkError):
                decisions[partition] = holds.unknown_metadata(partition, str(committed))
            elif committed is None or needs_inventory(committed, ids[partition], self._resource.spec.generation):
                unmarked[partition] = committed
            else:
                decisions[partition] = from_commit(partition, committed, self._resource.spec.generation)
        decisions |= self._from_bucket(unmarked, ids)
        self._apply(self._with_ways(decisions, ids), ids)

    def _from_bucket(
        self, unmarked: Mapping[TopicPartition, Committed | None], ids: Mapping[TopicPartition, str | None]
    ) -> dict[TopicPartition, Decision]:
        if not unmarked:
            return {}
        log_starts = self._offsets.log_starts(unmarked).values
        starts = self._starts(unmarked)
        tails, decisions = self._tails(unmarked)
        for partition in tails.keys() & log_starts.keys() & starts.keys():
            subject, committed = self._subject(partition, ids[partition]), unmarked[partition]
            start, log_start = starts[partition], log_starts[partition]
            decisions[partition] = from_bucket(subject, committed, tails[partition], start, log_start)
        return decisions

    def _tails(
        self, partitions: Collection[TopicPartition]
    ) -> tuple[dict[TopicPartition, Sequence[StoredRange]], dict[TopicPartition, Decision]]:
        """Return what our place has stored last of each partition, and holds where that cannot be read."""
        found = self._memory.tails(partitions, self._resource.spec.generation, PLANNED_RANGES)
        tails = {p: tail for p, tail in found.items() if not isinstance(tail, ForeignObjectError)}
        unreadable = {p: tail for p, tail in found.items() if isinstance(tail, ForeignObjectError)}
        return tails, {p: holds.unreadable_objects(p, str(error)) for p, error in unreadable.items()}

    def _starts(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Offset]:
        begins = dict.fromkeys(partitions) if self.begin_at is None else self.begin_at(partitions)
        unsaid = dict.fromkeys(partition for partition, begin in begins.items() if begin is None)
        said = {partition: begin for partition, begin in begins.items() if begin is not None}
        return said | (self._start_from(unsaid) if unsaid else {})

    def _start_from(self, partitions: Mapping[TopicPartition, object]) -> dict[TopicPartition, Offset]:
        """Resolve ``spec.kafka.startFrom`` for partitions without a trace."""
        start_from = self._resource.spec.kafka.start_from
        if start_from == "earliest":
            return self._offsets.log_starts(partitions).values
        ends = self._offsets.ends(partitions).values
        if start_from == "latest":
            return ends
        milliseconds = int(parse_time(start_from).timestamp() * 1000)
        found = self._offsets.first_since(dict.fromkeys(partitions, milliseconds)).values
        return {p: first[0] if first is not None else ends[p] for p, first in found.items() if p in ends}

    def _with_ways(
        self, decisions: Mapping[TopicPartition, Decision], ids: Mapping[TopicPartition, str | None]
    ) -> dict[TopicPartition, Decision]:
        """Decide about pending intents that cannot be executed as written; leave out those that are asked for again."""
        pending = {partition: it for partition, it in decisions.items() if isinstance(it, Execute)}
        ways = self.revisions.ways_of(it.intent for it in pending.values())
        result = {partition: decision for partition, decision in decisions.items() if partition not in pending}
        in_our_place: dict[TopicPartition, Execute] = {}
        for partition, execute in pending.items():
            match ways[partition]:
                case Way.AS_WRITTEN:
                    result[partition] = execute
                case Way.IN_OUR_PLACE:
                    in_our_place[partition] = execute
                case Way.NONE:
                    result[partition] = holds.revision_missing(partition, execute.intent.revision)
        return result | self._in_our_place(in_our_place, ids)

    def _in_our_place(
        self, pending: Mapping[TopicPartition, Execute], ids: Mapping[TopicPartition, str | None]
    ) -> dict[TopicPartition, Decision]:
        if not pending:
            return {}
        tails, decisions = self._tails(pending)
        for partition, tail in tails.items():
            subject, promise = self._subject(partition, ids[partition]), pending[partition]
            decisions[partition] = from_another_place(subject, promise.intent, promise.since, tail)
        return self._with_ways(decisions, ids)  # what ours has begun is of one of its revisions

    def _subject(self, partition: TopicPartition, topic_id: str | None) -> Subject:
        generation, place = self._resource.spec.generation, self.revisions.place
        return Subject(partition, topic_id, self._resource.group_id, generation, self._revision.hash, place)

    def _apply(self, decisions: Mapping[TopicPartition, Decision], ids: Mapping[TopicPartition, str | None]) -> None:
        """Commit what must be in Kafka first, then let the book go on."""
        generation = self._resource.spec.generation
        commits: dict[TopicPartition, Commit] = {}
        for partition, decision in decisions.items():
            token = self._book.token(partition)
            if token is None:
                continue
            match decision:
                case Resume(position=position, must_commit=True, skipped_from=skipped_from, since=since):
                    if skipped_from is not None:
                        self._memory.record_loss(partition, ids[partition], skipped_from, position, "skipped")
                    commits[partition] = Commit(token, stored(position, ids[partition], generation, since=since))
                case Execute(intent=intent, must_commit=True, since=since):
                    commits[partition] = Commit(token, promised(intent, since))
        sent = self._group.commit(commits, promise=True) if commits else None
        resolved: dict[TopicPartition, Decision] = {}
        for partition, decision in decisions.items():
            waits = partition in commits and (sent is None or partition not in sent.committed)
            if waits or self._book.token(partition) is None:
                continue
            self._book.resolve(partition, decision, ids[partition], generation)
            resolved[partition] = decision
        _report(resolved, self.revisions.place)


def _report(decisions: Mapping[TopicPartition, Decision], place: str) -> None:
    resumed: list[Mapping[str, object]] = []
    taken_over: list[Mapping[str, object]] = []
    moved: list[Mapping[str, object]] = []
    for partition, decision in sorted(decisions.items()):
        where = {"topic": partition.topic, "partition": partition.partition}
        match decision:
            case Resume(position=position, ends=ends) if ends:
                moved.append({**where, "start": position, "ends": list(ends), "place": place})
            case Resume(position=position):
                resumed.append({**where, "position": position})
            case Execute(intent=intent):
                plan = {"start": intent.start, "ends": list(intent.ends), "revision": intent.revision}
                taken_over.append({**where, **plan, "place": intent.place})
            case Hold(reason=reason, message=message):
                log.error("partition.held", **where, reason=reason, message=message)
    log_each(log, "partition.resumed", resumed)
    log_each(log, "partition.takes_over", taken_over)
    log_each(log, "partition.moved", moved)
