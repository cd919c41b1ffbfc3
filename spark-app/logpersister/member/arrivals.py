"""How the member goes on with partitions that the group just gave it: one look at Kafka, if need be at the bucket."""

import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import structlog

from logpersister.manifest import LogPersister
from logpersister.manifest.kafka import parse_time
from logpersister.manifest.revision import Revision, reached_like, revision_of_document
from logpersister.member.ports import World
from logpersister.plan import holds
from logpersister.plan.book import Book, Commit
from logpersister.plan.holds import Hold
from logpersister.plan.intents import PLANNED_RANGES, Committed, UnknownMarkError, promised, stored
from logpersister.plan.recovery import (
    Decision,
    Execute,
    Resume,
    Subject,
    from_bucket,
    from_commit,
    needs_inventory,
)
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.lines import log_each
from logpersister.storage.errors import StorageError
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
        self.revisions: dict[str, Mapping[str, Any]] = {revision.hash: revision.document}
        """Of every revision that a pending intent needs: its snapshot, with our own ways to brokers and bucket."""
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
            self._try_later(left, "Kafka does not tell of their topics, or has not taken their first commit")
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
        self._apply({p: self._executable(p, d) for p, d in decisions.items()}, ids)

    def _from_bucket(
        self, unmarked: Mapping[TopicPartition, Committed | None], ids: Mapping[TopicPartition, str | None]
    ) -> dict[TopicPartition, Decision]:
        if not unmarked:
            return {}
        generation = self._resource.spec.generation
        log_starts = self._offsets.log_starts(unmarked).values
        starts = self._starts(unmarked)
        tails = self._memory.tails(unmarked, generation, PLANNED_RANGES)
        decisions: dict[TopicPartition, Decision] = {}
        for partition, committed in unmarked.items():
            tail = tails[partition]
            if isinstance(tail, ForeignObjectError):
                decisions[partition] = holds.unreadable_objects(partition, str(tail))
            elif partition in log_starts and partition in starts:
                subject = Subject(partition, ids[partition], self._resource.group_id, generation, self._revision.hash)
                decisions[partition] = from_bucket(subject, committed, tail, starts[partition], log_starts[partition])
        return decisions

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

    def _executable(self, partition: TopicPartition, decision: Decision) -> Decision:
        """Hold a partition whose pending intent cannot be executed as written."""
        if not isinstance(decision, Execute):
            return decision
        revision = decision.intent.revision
        if revision not in self.revisions:
            document = self._snapshot(revision)
            if document is None or revision_of_document(document).hash != revision:
                return holds.revision_missing(partition, revision)
            self.revisions[revision] = reached_like(document, self._revision.document)
        return decision

    def _snapshot(self, revision: str) -> Mapping[str, Any] | None:
        try:
            return self._memory.revision(revision)
        except StorageError as error:
            if error.kind == "damaged":  # that concerns this intent only
                return None
            raise

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
        _report(resolved)


def _report(decisions: Mapping[TopicPartition, Decision]) -> None:
    resumed: list[Mapping[str, object]] = []
    taken_over: list[Mapping[str, object]] = []
    for partition, decision in sorted(decisions.items()):
        where = {"topic": partition.topic, "partition": partition.partition}
        match decision:
            case Resume(position=position):
                resumed.append({**where, "position": position})
            case Execute(intent=intent):
                plan = {"start": intent.start, "ends": list(intent.ends), "revision": intent.revision}
                taken_over.append({**where, **plan})
            case Hold(reason=reason, message=message):
                log.error("partition.held", **where, reason=reason, message=message)
    log_each(log, "partition.resumed", resumed)
    log_each(log, "partition.takes_over", taken_over)
