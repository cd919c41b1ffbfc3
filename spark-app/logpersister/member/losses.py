"""Offsets that Kafka has lost, and offsets that were skipped: recorded before the work goes on behind them."""

import random
from collections.abc import Callable

import structlog

from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.member.commits import Committer
from logpersister.member.listener import Listener
from logpersister.member.ports import StateStore
from logpersister.member.revision_snapshots import RevisionSnapshots
from logpersister.plan import holds
from logpersister.plan.events import Gone, Recorded, Stored
from logpersister.plan.intents import Intent
from logpersister.plan.partitions import PartitionStates
from logpersister.plan.protocol import written
from logpersister.plan.recovery import StoredTail
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError

log = structlog.get_logger(__name__)

RECORD_AGAIN_SECONDS = 5.0
"""Pause after the bucket has refused the record of a loss."""


class Losses:
    """The losses of the owned partitions; part of a member's turn."""

    def __init__(
        self,
        kafka: KafkaSpec,
        states: PartitionStates,
        committer: Committer,
        snapshots: RevisionSnapshots,
        state_store: StateStore,
        listener: Listener,
        clock: Callable[[], float],
    ) -> None:
        self._skips = kafka.on_data_loss == "skip"
        self._states = states
        self._committer = committer
        self._snapshots = snapshots
        self._state_store = state_store
        self._listener = listener
        self._clock = clock
        self._record_at = float("-inf")

    def accepts(self, partition: TopicPartition, start: Offset, end: Offset) -> bool:
        """Return whether a loss is to be recorded, and the work to go on behind it; else hold: by ``onDataLoss``."""
        if self._skips:
            return True
        self._states.hold(partition, holds.data_lost(partition, start, end))
        self._listener.lost(partition, start, end, skipped=False)
        return False

    def take_promised(self, range_: Range, log_start: Offset) -> None:
        """Records of promised ranges are gone: what is left of the promise is made anew, with an unstored prefix."""
        partition, promise = range_.partition, self._states.promise_of(range_)
        if promise is None or not self.accepts(partition, promise.settled(), log_start):
            return
        try:
            self._find_stored(promise.intent)
            value = written(self._states.step(partition, Gone(log_start)))
            self._committer.promise({partition: value} if value is not None else {})
        except StorageError as error:  # the range fails again, and others have nothing to do with it
            log.warning("loss.not_promised", topic=partition.topic, partition=partition.partition, error=str(error))

    def record(self) -> bool:
        """Record what promises say is lost or skipped; what the bucket does not take now is tried again.

        Return whether there was anything to record.
        """
        if self._clock() < self._record_at:
            return False
        unrecorded = self._states.unrecorded()
        for intent in unrecorded:
            try:
                self._find_stored(intent)
                self._record(intent)
            except StorageError as error:
                where = {"topic": intent.partition.topic, "partition": intent.partition.partition}
                log.warning("loss.not_recorded", **where, error=str(error))
                self._record_at = self._clock() + RECORD_AGAIN_SECONDS * random.uniform(0.5, 1.5)
        return bool(unrecorded)

    def _find_stored(self, intent: Intent) -> None:
        """Look for ranges of an intent that somebody before us has stored as a whole: those are not lost."""
        partition = intent.partition
        if not self._states.may_run_again(partition) or self._snapshots.stores_elsewhere(intent):
            return
        tail = self._state_store.stored_tails([partition], intent.generation)[partition]
        if isinstance(tail, StoredTail) and tail.generation == intent.generation:
            revision = self._snapshots.named_by_objects(intent)
            whole = {(it.start, it.end) for it in tail.ranges if it.whole and it.revision == revision}
            for range_ in intent.ranges():
                if (range_.start, range_.end) in whole:
                    self._states.step(partition, Stored(range_))

    def _record(self, intent: Intent) -> None:
        partition = intent.partition
        record = self._states.record_of(partition)
        if record is None:
            return
        for lost in record.ranges:
            self._state_store.record_loss(lost, intent.topic_id, record.unstored.cause)
        self._states.step(partition, Recorded(record.unstored))
        for lost in record.ranges:
            where = {"topic": partition.topic, "partition": partition.partition, "start": lost.start, "end": lost.end}
            if record.unstored.cause == "lost":
                log.error("data.lost", **where)
                self._listener.lost(partition, lost.start, lost.end, skipped=True)
            else:
                log.warning("offsets.skipped", **where)
