"""Decides how to go on with partitions: by one fenced read of the register, and one of the bucket where needed."""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import structlog

from logpersister.group.answers import Registered, TopicDescription
from logpersister.kafka_client.causes import in_words
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import Revision
from logpersister.member.commits import Committer
from logpersister.member.output_revisions import OutputRevisions
from logpersister.member.ports import Dependencies
from logpersister.member.revision_snapshots import RecoveryAction, RevisionSnapshots
from logpersister.member.start_offsets import StartOffsets
from logpersister.member.topic_bindings import TopicBindings
from logpersister.plan import holds, protocol
from logpersister.plan.events import Resolved
from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset, Intent, UnknownMetadataError, promised, same_topic
from logpersister.plan.partitions import PartitionStates
from logpersister.plan.protocol import written
from logpersister.plan.recovery import PartitionContext, StoredTail, from_another_place, from_bucket, needs_bucket
from logpersister.plan.states import Idle, InDoubt, Pending, State, Unresolved
from logpersister.ranges import TopicPartition
from logpersister.report.lines import log_each
from logpersister.storage.facts import ForeignObjectError

log = structlog.get_logger(__name__)

RETRY_SECONDS = 2.0
STALE_SECONDS = 120.0
"""How long Kafka may show an older value than it has acknowledged: until then a broker may hear of its successor."""

Read = Mapping[TopicPartition, CommittedOffset | None]
Targets = dict[TopicPartition, CommittedOffset | Hold]
"""What should stand in the register; partitions of which that is not known yet are missing."""


class Resolver:
    """Resolves partitions: unresolved ones become idle, promised or held."""

    def __init__(
        self,
        resource: LogPersister,
        revision: Revision,
        states: PartitionStates,
        dependencies: Dependencies,
        committer: Committer,
        documents: dict[str, Mapping[str, Any]],
        topic_bindings: TopicBindings,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._resource = resource
        self._states = states
        self._register = dependencies.register
        self._offsets = dependencies.offsets
        self._state_store = dependencies.state_store
        self._committer = committer
        self._topic_bindings = topic_bindings
        self._clock = clock
        self._retry_at = 0.0
        self._told_generation = resource.spec.generation
        """The highest that was logged."""
        self._stale_since: dict[TopicPartition, float] = {}
        self.unreadable: dict[TopicPartition, Exception] = {}
        """Why partitions cannot be resolved whose log Kafka does not tell."""
        self.snapshots = RevisionSnapshots(revision, resource.spec.storage.place, dependencies.state_store)
        self.output_revisions = OutputRevisions(
            resource,
            revision,
            dependencies.schemas,
            self.snapshots,
            documents,
            dependencies.tables,
            clock=clock,
            aside=dependencies.aside,
        )
        self.start_offsets = StartOffsets(
            resource.spec.kafka,
            dependencies.register,
            dependencies.offsets,
            dependencies.state_store,
            topic_bindings,
            now,
        )

    def resolve(self) -> bool:
        """Resolve what can be resolved now, and return whether anything was; the rest is tried again."""
        unresolved = self._states.unresolved()
        self.unreadable = {p: self.unreadable[p] for p in unresolved if p in self.unreadable}
        if not unresolved or self._clock() < self._retry_at:
            return False
        try:
            self._resolve(unresolved)
        except Exception as error:  # Kafka or S3 does not answer; nothing is decided without them
            self._try_later(unresolved, in_words(error))
            return False
        left = self._states.unresolved()
        if left and self.unreadable.keys() >= set(left):  # said where all that cannot be read is said
            self._wait()
        elif left:
            self._try_later(
                left, "Kafka does not describe their topics or has not accepted a commit, or a bucket is unreachable"
            )
        return len(left) < len(unresolved)

    def _try_later(self, unresolved: Sequence[TopicPartition], error: str) -> None:
        self._wait()
        topics = sorted({partition.topic for partition in unresolved})
        log.warning("partitions.unresolved", partitions=len(unresolved), topics=topics[:10], error=error)

    def _wait(self) -> None:
        self._retry_at = self._clock() + RETRY_SECONDS * random.uniform(0.5, 1.5)

    def _resolve(self, partitions: Sequence[TopicPartition]) -> None:
        topics = self._offsets.describe({partition.topic for partition in partitions})
        self._topic_bindings.partitions |= {name: len(topic.leaders) for name, topic in topics.items()}
        known = [partition for partition in partitions if partition.topic in topics]
        for partition in known:
            self._states.describe(partition, topics[partition.topic].topic_id)
        read = self._credible(self._register.read(known))
        targets: Targets = {}
        unclear: dict[TopicPartition, CommittedOffset | None] = {}
        for partition, committed in read.items():
            if needs_bucket(committed, self._topic_id(partition), self._resource.spec.generation):
                unclear[partition] = committed
            elif committed is not None:
                targets[partition] = committed
        targets |= self._from_bucket(unclear, topics)
        self._apply(read, self._as_it_can_be_done(targets))

    def _credible(self, answers: Mapping[TopicPartition, Registered]) -> Read:
        """Leave out answers that are older than what this process has seen; hold what no answer will make clear."""
        read: dict[TopicPartition, CommittedOffset | None] = {}
        for partition, answer in answers.items():
            if isinstance(answer, UnknownMetadataError):
                self._states.hold(partition, holds.unknown_metadata(partition, str(answer)))
            elif protocol.is_stale(self._states.state(partition), answer, self._topic_id(partition)):
                self._note_stale(partition, answer)
            else:
                self._stale_since.pop(partition, None)
                read[partition] = answer
        return read

    def _note_stale(self, partition: TopicPartition, answer: CommittedOffset | None) -> None:
        since = self._stale_since.setdefault(partition, self._clock())
        seen = protocol.newest(self._states.state(partition))
        read, known = answer.offset if answer else None, seen.offset if seen else 0
        log.warning("offset.stale", topic=partition.topic, partition=partition.partition, read=read, seen=known)
        if self._clock() - since >= STALE_SECONDS:
            self._states.hold(partition, holds.commit_vanished(partition, read, known))

    def _note_higher(self, read: Read) -> None:
        ours = self._resource.spec.generation
        found = [one.metadata.generation for one in read.values() if one is not None and one.metadata is not None]
        higher = [generation for generation in found if generation > ours]
        if higher and max(higher) != self._told_generation:  # it is read again with each attempt
            self._told_generation = max(higher)
            log.warning("generation.lower", partitions=len(higher), generation=ours, stored=max(higher))

    # what should stand in the register

    def _from_bucket(self, unclear: Read, topics: Mapping[str, TopicDescription]) -> Targets:
        if not unclear:
            return {}
        self._note_higher(unclear)
        answer = self._offsets.log_starts(unclear)
        log_starts, self.unreadable = answer.values, answer.errors
        stored_tails, targets = self._tails(unclear)
        # The group may begin here: where it does is noted, also when a user has set the offset of this partition.
        without = [p for p, committed in unclear.items() if not self._is_left_by_us(p, committed)]
        begins = self.start_offsets.of(without, topics, log_starts) if without else {}
        for partition in stored_tails.keys() & log_starts.keys():
            begin = begins.get(partition) if partition in without else log_starts[partition]
            if isinstance(begin, Hold):
                targets[partition] = begin
            elif begin is not None:
                context, log_start = self._context(partition), log_starts[partition]
                targets[partition] = from_bucket(context, unclear[partition], stored_tails[partition], begin, log_start)
        return targets

    def _is_left_by_us(self, partition: TopicPartition, committed: CommittedOffset | None) -> bool:
        metadata = committed.metadata if committed is not None else None
        return metadata is not None and same_topic(metadata.topic_id, self._topic_id(partition))

    def _tails(self, partitions: Read) -> tuple[dict[TopicPartition, StoredTail], Targets]:
        """Return what our place has stored last of each partition, and holds where that cannot be read."""
        found = self._state_store.stored_tails(partitions, self._resource.spec.generation)
        stored_tails = {p: tail for p, tail in found.items() if isinstance(tail, StoredTail)}
        unreadable = {p: tail for p, tail in found.items() if isinstance(tail, ForeignObjectError)}
        return stored_tails, {p: holds.unreadable_objects(p, str(error)) for p, error in unreadable.items()}

    def _as_it_can_be_done(self, targets: Targets) -> Targets:
        """Decide about promises that cannot be kept as written; leave out those that are asked for again."""
        pending: dict[TopicPartition, tuple[CommittedOffset, Intent]] = {}
        for partition, target in targets.items():
            intent = target.intent(partition) if isinstance(target, CommittedOffset) else None
            if isinstance(target, CommittedOffset) and intent is not None:
                pending[partition] = target, intent
        actions = self.snapshots.recovery_actions(intent for _, intent in pending.values())
        result = {partition: target for partition, target in targets.items() if partition not in pending}
        in_our_place: dict[TopicPartition, CommittedOffset] = {}
        for partition, (target, intent) in pending.items():
            match actions[partition]:
                case RecoveryAction.AS_WRITTEN:
                    ours = self.snapshots.under_our_rules(intent)
                    since, seen = (target.metadata.since, target.metadata.seen) if target.metadata else (None, None)
                    result[partition] = target if ours == intent else promised(ours, since, seen)
                case RecoveryAction.IN_OUR_PLACE:
                    in_our_place[partition] = target
                case RecoveryAction.HOLD:
                    result[partition] = holds.revision_missing(partition, intent.revision)
        return result | self._in_our_place(in_our_place)

    def _in_our_place(self, pending: Mapping[TopicPartition, CommittedOffset]) -> Targets:
        if not pending:
            return {}
        stored_tails, targets = self._tails(pending)
        intents = {partition: pending[partition].intent(partition) for partition in stored_tails}
        revisions = self.output_revisions.anew({p: intent.end for p, intent in intents.items() if intent is not None})
        for topic, error in self.output_revisions.take_errors().items():  # it is asked for again: others need not wait
            log.warning("topic.waits", topic=topic, error=error.message)
        for partition, revision in revisions.items():
            anew = replace(self._context(partition), revision=revision)
            targets[partition] = from_another_place(anew, pending[partition], stored_tails[partition])
        return self._as_it_can_be_done(targets)  # what ours has begun is of one of its revisions

    def _context(self, partition: TopicPartition) -> PartitionContext:
        generation, place = self._resource.spec.generation, self.snapshots.place
        topic_id, revision = self._topic_id(partition), self.output_revisions.without_schema(partition.topic)
        return PartitionContext(partition, topic_id, self._resource.group_id, generation, revision, place)

    def _topic_id(self, partition: TopicPartition) -> str | None:
        return self._states.topic_id(partition)

    # what follows

    def still_standing(self, values: Read) -> set[TopicPartition]:
        """Return the partitions of whose register it is certain that it has not moved while the bucket was asked.

        What the bucket has of another one may be the work of its next owner, and no cause to hold it.
        """
        if not values:
            return set()
        now = self._register.read(values)
        return {partition for partition, value in values.items() if partition in now and now[partition] == value}

    def _apply(self, read: Read, targets: Targets) -> None:
        writes: dict[TopicPartition, CommittedOffset] = {}
        blocked = {partition: read[partition] for partition, target in targets.items() if isinstance(target, Hold)}
        moved = blocked.keys() - self.still_standing(blocked)
        for partition, target in targets.items():
            if partition in moved:
                continue
            resolved = Resolved(read[partition], target, self._topic_id(partition))
            value = written(self._states.step(partition, resolved))
            if value is not None and isinstance(self._states.state(partition), Unresolved | InDoubt):
                writes[partition] = value  # the target is not yet in Kafka
        self._committer.promise(writes)
        _report({p: self._states.state(p) for p in targets.keys() - moved}, read, self.snapshots.place)


def _report(states: Mapping[TopicPartition, State], read: Read, place: str) -> None:
    resumed: list[Mapping[str, object]] = []
    taken_over: list[Mapping[str, object]] = []
    moved: list[Mapping[str, object]] = []
    for partition, state in sorted(states.items()):
        where = {"topic": partition.topic, "partition": partition.partition}
        before = read[partition]
        promised_before = before.intent(partition) if before is not None else None
        match state:
            case Idle(value):
                resumed.append({**where, "position": value.offset})
            case Pending(intent=intent) if promised_before is not None and promised_before.place != intent.place:
                moved.append({**where, "start": intent.start, "ends": list(intent.ends), "place": place})
            case Pending(intent=intent):
                plan = {"start": intent.start, "ends": list(intent.ends), "revision": intent.revision}
                taken_over.append({**where, **plan, "place": intent.place})
    log_each(log, "partition.resumed", resumed)
    log_each(log, "partition.takes_over", taken_over)
    log_each(log, "partition.moved", moved)
