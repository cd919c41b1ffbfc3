"""Revisions for promises: ours, as far as it concerns their topic, with the schema in it.

With ``spec.overrides``, that is our manifest as it is for the topic, without what it says of others
(docs/design/topics.md). With the registry of a value, it has one schema of the registry in it, so the schema of a
range is part of its promise (docs/design/registry.md). With ``spec.table``, it has the numbers in it by which the
table knows the columns (docs/design/tables.md). The snapshot of a revision is in the bucket before the first intent
names it.
"""

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog

from logpersister.aside import Aside, at_once
from logpersister.backoff import Backoff
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import (
    OutputSchema,
    Revision,
    output_schema_of,
    revision_of,
    with_output_schema,
)
from logpersister.member.ports import Schemas, SchemasOfTopic, Tables
from logpersister.member.revision_snapshots import RevisionSnapshots
from logpersister.pipeline.rules import rules_of
from logpersister.pipeline.task import work_error
from logpersister.pipeline.work import WorkError
from logpersister.plan import holds
from logpersister.plan.holds import Hold
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import Offset, TopicPartition
from logpersister.registry.errors import RegistryError
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)

Ends = Mapping[TopicPartition, Offset]
Told = TypeVar("Told")

PATIENCE_SECONDS: Final = 1.0
"""How long a turn waits for a registry that has answered so far. Others are asked without waiting."""
_NEVER = float("-inf")
_AGAIN = Backoff(1.0, 15.0)
_LONG = 5
"""Failures after which a pause is as long as one gets: what a person has to mend is not asked for often."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the registry has said of a topic."""

    schema: OutputSchema
    revision: Revision
    ends: Ends
    """Where partitions ended before it was asked. A record that is in Kafka has a registered schema, so what is before
    these ends has no newer one."""
    late: bool = False
    """Whether the turn that asked was over before."""

    def covers(self, planned: Ends) -> bool:
        return all(end <= self.ends.get(partition, 0) for partition, end in planned.items())


@dataclass(frozen=True, slots=True)
class _Question:
    """What a registry is asked, or has answered meanwhile."""

    registry: Hashable
    ends: Ends
    """Where partitions of the topic ended before."""
    answer: "Future[Any]"


class _LaterError(Exception):
    """The answer is not there yet."""


class OutputRevisions:
    """The revisions under which this member promises."""

    def __init__(
        self,
        resource: LogPersister,
        own: Revision,
        schemas: Schemas | None,
        snapshots: RevisionSnapshots,
        documents: dict[str, Mapping[str, Any]],
        tables: Tables | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        aside: Aside = at_once,
    ) -> None:
        """Begin with nothing asked.

        Args:
            documents: the same; of these the snapshots must be stored before a promise names them.
            aside: asks registries, each for one thing at a time, so that one that is silent stops its own topics only.
        """
        self._resource = resource
        self._own = own
        self._by_topic = resource.spec.names_subjects
        self._of_topics: dict[int | str | None, Revision] = {}
        """Revisions by override, or by topic where each has subjects of its own."""
        self._schemas = schemas
        self._tables = tables
        self._snapshots = snapshots
        self.documents = documents
        self._clock = clock
        self._aside = aside
        self._questions: dict[tuple[Hashable, ...], _Question] = {}
        """By topic, and what is asked."""
        self._answers: dict[str, _Answer] = {}
        self._failures: Counter[Hashable] = Counter()
        """Failures in a row of each registry."""
        self._retry_at: dict[Hashable, float] = {}
        self._failed_at: dict[str, float] = {}
        """When a registry last failed to answer about a topic. Others are asked about first, so that it stops none."""
        self._retry_topic_at: dict[str, float] = {}
        self._errors: dict[str, WorkError] = {}
        self.waiting_since: dict[str, float] = {}
        """When topics began to wait for their registry or table, by the clock."""

    def of(
        self, planned: Ends, ends: Ends, values: Mapping[TopicPartition, CommittedOffset | None]
    ) -> dict[TopicPartition, str | Hold]:
        """Return the revision for what is planned of each partition; those whose topic has to wait are missing.

        Args:
            ends: where partitions end, as Kafka has told before this call: the registry must be asked after Kafka.
        """
        found: dict[TopicPartition, str | Hold] = {}
        for of_topic, answer, revision in self._answered(planned, ends):
            if answer is None:
                found |= dict.fromkeys(of_topic, revision)
            else:
                found |= self._judged(of_topic, answer, revision, values)
        return found

    def anew(self, promised: Ends) -> dict[TopicPartition, str]:
        """Return the revision for ranges that were promised before; those whose topic has to wait are missing."""
        answered = self._answered(promised, promised)
        return {partition: revision for of_topic, _, revision in answered for partition in of_topic}

    def limited(self, partition: TopicPartition, position: Offset, end: Offset) -> Offset:
        """Return up to where to plan: not beyond what an answer that came late is about, as long as that is ahead."""
        answer = self._answers.get(partition.topic)
        known = 0 if answer is None or not answer.late else answer.ends.get(partition, 0)
        return min(end, known) if known > position else end

    def _answered(self, planned: Ends, ends: Ends) -> Iterator[tuple[Ends, _Answer | None, str]]:
        """Yield by topic what need not wait, with the answer of its registry, if it has one, and its revision."""
        topics = {partition.topic for partition in planned}
        for topic in sorted(topics, key=lambda one: (self._failed_at.get(one, _NEVER), one)):
            of_topic = {partition: end for partition, end in planned.items() if partition.topic == topic}
            answer: _Answer | None = None
            schemas = self._schemas_of(topic)
            if schemas is not None:
                answer = self._answers.get(topic)
                if answer is None or not answer.covers(of_topic):
                    answer = (
                        self._ask(schemas, topic, {p: end for p, end in ends.items() if p.topic == topic}) or answer
                    )
                of_topic = {p: end for p, end in of_topic.items() if answer is not None and answer.covers({p: end})}
            if of_topic:
                revision = self._for_rows(topic, self._of_manifest(topic) if answer is None else answer.revision)
                if revision is not None:
                    self.waiting_since.pop(topic, None)
                    yield of_topic, answer, revision
                    continue
            self.waiting_since.setdefault(topic, self._clock())

    def without_schema(self, topic: str) -> str:
        """Return the revision for what makes no rows: our manifest, as far as it concerns a topic."""
        return self._known(self._of_manifest(topic))

    @property
    def refused(self) -> set[str]:
        """Topics without a schema or table that can be used: they wait for a person."""
        return set(self._retry_topic_at) | (set() if self._tables is None else self._tables.refused)

    def take_errors(self) -> dict[str, WorkError]:
        """Return by topic what went wrong since the last call."""
        errors, self._errors = self._errors, {}
        of_tables = {} if self._tables is None else self._tables.take_errors()
        return errors | {
            topic: WorkError("catalog" if error.is_of_catalog else "table", str(error))
            if isinstance(error, TableError)
            else work_error(error)
            for topic, error in of_tables.items()
        }

    def forget(self, partition: TopicPartition) -> None:
        """Forget what covers a partition that is no longer ours: its topic may be made again meanwhile."""
        self._answers.pop(partition.topic, None)
        self._failed_at.pop(partition.topic, None)
        self.waiting_since.pop(partition.topic, None)
        self._questions = {key: it for key, it in self._questions.items() if key[0] != partition.topic}

    def _schemas_of(self, topic: str) -> SchemasOfTopic | None:
        return None if self._schemas is None else self._schemas.of(topic)

    def _ask(self, schemas: SchemasOfTopic, topic: str, ends: Ends) -> _Answer | None:
        """Ask for the schema of a topic; None: not now, and what is planned of it has to wait."""
        try:
            schema, asked = self._told(schemas.place, (topic,), ends, lambda: schemas.current(topic))
        except _LaterError:
            return None
        except RegistryError as error:
            self._failed(topic, error)
            return None
        self._failed_at.pop(topic, None)
        self._retry_topic_at.pop(topic, None)
        before = self._answers.get(topic)
        answer = _Answer(schema, self._of_schema(topic, schema), asked, late=asked is not ends)
        self._answers[topic] = answer
        if before is None or before.revision != answer.revision:
            log.info("schema.taken", topic=topic, version=schema.version, revision=answer.revision.hash)
        return answer

    def _told(
        self, registry: Hashable, key: tuple[str, *tuple[Hashable, ...]], ends: Ends, question: Callable[[], Told]
    ) -> tuple[Told, Ends]:
        """Return what a registry answers, and the `ends` with which the question was begun.

        `key` has a topic first, and what is asked about it. Raises RegistryError, and `_LaterError`.
        """
        asked = self._questions.get(key)
        if asked is None:
            retry_at = max(self._retry_at.get(registry, _NEVER), self._retry_topic_at.get(key[0], _NEVER))
            is_busy = any(it.registry == registry and not it.answer.done() for it in self._questions.values())
            if is_busy or self._clock() < retry_at:
                raise _LaterError
            seconds = 0.0 if self._failures[registry] else PATIENCE_SECONDS
            asked = self._questions[key] = _Question(registry, ends, self._aside(question, seconds))
        if not asked.answer.done():
            raise _LaterError
        del self._questions[key]
        told: Told = asked.answer.result()
        self._failures.pop(registry, None)
        return told, asked.ends

    def _failed(self, topic: str, error: RegistryError) -> None:
        """Let the topic wait; all topics of its registry, when that is away."""
        self._errors[topic] = work_error(error)
        schemas = self._schemas_of(topic)
        if error.retriable and schemas is not None:
            registry, now = schemas.place, self._clock()
            self._failures[registry] += 1
            self._failed_at[topic] = now
            self._retry_at[registry] = now + _AGAIN.pause(self._failures[registry])
        else:
            self._retry_topic_at[topic] = self._clock() + _AGAIN.pause(_LONG)

    def _of_schema(self, topic: str, schema: OutputSchema) -> Revision:
        return with_output_schema(self._of_manifest(topic).document, schema)

    def _for_rows(self, topic: str, revision: Revision) -> str | None:
        """Return the revision by which rows of a topic are written; None: the topic waits for its table."""
        if self._tables is None:
            return self._known(revision)
        bound = self._tables.bound(topic, revision)
        return None if bound is None else self._known(bound)

    def _of_manifest(self, topic: str) -> Revision:
        """Return the revision of our manifest as it is for a topic. So it does not change when others get overrides."""
        if not self._resource.spec.overrides and not self._by_topic:
            return self._own
        key = topic if self._by_topic else self._resource.spec.override_of(topic)
        if key not in self._of_topics:
            resource, own = self._resource.for_topic(topic), self._own.document
            rules = rules_of(resource) if "rules" in own else None
            self._of_topics[key] = revision_of(resource, own["codeVersion"], rules)
        return self._of_topics[key]

    def _known(self, revision: Revision) -> str:
        self.documents[revision.hash] = revision.document
        self._snapshots.documents[revision.hash] = revision.document
        return revision.hash

    # schemas that were used before

    def _judged(
        self, planned: Ends, answer: _Answer, revision: str, values: Mapping[TopicPartition, CommittedOffset | None]
    ) -> dict[TopicPartition, str | Hold]:
        found: dict[TopicPartition, str | Hold] = {}
        for partition in planned:
            try:
                found[partition] = self._judge(partition, answer.schema, values.get(partition)) or revision
            except _LaterError:
                continue
            except RegistryError as error:
                self._failed(partition.topic, error)
        return found

    def _judge(self, partition: TopicPartition, now: OutputSchema, value: CommittedOffset | None) -> Hold | None:
        """Return a hold where the schema cannot read what the one before could."""
        before, topic = self._used_before(value), partition.topic
        schemas = self._schemas_of(topic)
        if before is None or before == now or schemas is None:
            return None
        problem, _ = self._told(schemas.place, (topic, now, before), {}, lambda: schemas.unreadable(topic, now, before))
        return None if problem is None else holds.schema_incompatible(partition, now.version, before.version, problem)

    def _used_before(self, value: CommittedOffset | None) -> OutputSchema | None:
        """Return the schema of the range before, in this generation; None: there is none that must be read."""
        metadata = value.metadata if value is not None else None
        generation = self._own.document["spec"].get("generation", 1)
        if metadata is None or metadata.revision is None or metadata.generation != generation:
            return None
        document = self._snapshots.snapshot(metadata.revision)
        return None if document is None else output_schema_of(document)
