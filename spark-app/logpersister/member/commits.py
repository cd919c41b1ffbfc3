"""Writes values into the register: first what must be in the bucket before a promise, then one commit for all."""

import time
from collections.abc import Mapping
from typing import Any

import structlog

from logpersister.kafka_client.causes import in_words, is_forbidden
from logpersister.member.listener import Listener
from logpersister.member.ports import Register, StateStore
from logpersister.member.topic_bindings import TopicBindings
from logpersister.plan.events import Unanswered
from logpersister.plan.intents import CommittedOffset
from logpersister.plan.partitions import Commit, PartitionStates
from logpersister.ranges import TopicPartition
from logpersister.report.metrics import CommitStep

log = structlog.get_logger(__name__)


class Committer:
    """The only one that commits: promises, progress, and where partitions begin."""

    def __init__(
        self,
        states: PartitionStates,
        register: Register,
        state_store: StateStore,
        topic_bindings: TopicBindings,
        documents: Mapping[str, Mapping[str, Any]],
        generation: int,
        listener: Listener,
    ) -> None:
        """Write for a member of a generation.

        Args:
            documents: of the revisions under which this member promises, which may become more.
        """
        self._states = states
        self._register = register
        self._state_store = state_store
        self._topic_bindings = topic_bindings
        self._documents = documents
        self._generation = generation
        self._listener = listener
        self._snapshots_stored: set[str] = set()
        self._refused: dict[TopicPartition, Exception] = {}

    @property
    def refused(self) -> dict[TopicPartition, Exception]:
        """Partitions of this member whose topics this user may not read: nothing can be committed for them."""
        return {partition: error for partition, error in self._refused.items() if self._states.token(partition)}

    def promise(self, values: Mapping[TopicPartition, CommittedOffset]) -> set[TopicPartition]:
        """Write values that begin something new, as far as that is possible now; return where it was done.

        Raises StorageError: the snapshot of a revision of ours cannot be stored, so nothing can be promised.
        """
        commits = {
            p: Commit(token, value) for p, value in self._prepared(values).items() if (token := self._states.token(p))
        }
        return self._send(commits, "promise")

    def commit_progress(self, commits: Mapping[TopicPartition, Commit]) -> set[TopicPartition]:
        """Write how far partitions are; return where it was done."""
        return self._send(commits, "keep")

    def _prepared(self, values: Mapping[TopicPartition, CommittedOffset]) -> Mapping[TopicPartition, CommittedOffset]:
        """Bind topics and store our snapshots before a promise names them; leave out what has to wait or is held."""
        intents = [intent for partition, value in values.items() if (intent := value.intent(partition)) is not None]
        ours = [intent for intent in intents if intent.generation == self._generation]
        topic_ids = {intent.partition: intent.topic_id for intent in ours}
        allowed, found = self._topic_bindings.judge(topic_ids)
        for partition, hold in found.items():
            self._states.hold(partition, hold)
        refused = topic_ids.keys() - allowed
        ready = {partition: value for partition, value in values.items() if partition not in refused}
        named = {intent.revision for intent in intents if intent.partition in ready}
        for revision in sorted((named & self._documents.keys()) - self._snapshots_stored):
            self._state_store.put_revision(revision, self._documents[revision])
            self._snapshots_stored.add(revision)
        return ready

    def _send(self, commits: Mapping[TopicPartition, Commit], step: CommitStep) -> set[TopicPartition]:
        if not commits:
            return set()
        started = time.perf_counter()
        sent = self._register.commit(commits, promise=step == "promise")
        self._listener.committing(step, time.perf_counter() - started, sent.failed)
        for partition in sent.committed:
            self._refused.pop(partition, None)
            self._states.acknowledged(partition, commits[partition])
        for partition, error in sent.failed.items():
            log.warning("commit.failed", topic=partition.topic, partition=partition.partition, error=in_words(error))
            if is_forbidden(error):
                self._refused[partition] = error
            self._states.step(partition, Unanswered(commits[partition].committed))
        return sent.committed
