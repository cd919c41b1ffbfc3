"""Makes what the ranges of a revision are written with, once for each worker process and revision."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from logpersister.compiled.topic import CompiledTopic
from logpersister.manifest.revisions.revision import original_of, resource_of
from logpersister.manifest.revisions.table_binding import TableBinding, table_of, tables_of
from logpersister.manifest.spec import Spec
from logpersister.pipeline.arrivals import arrival_notes
from logpersister.pipeline.connections import begin_task, connections, retries
from logpersister.pipeline.dry_run import DryRun
from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.folder_notes import folder_notes
from logpersister.pipeline.open_object import Upload
from logpersister.pipeline.range_results import RangeResults
from logpersister.pipeline.receipts import Receipts
from logpersister.pipeline.room import Room
from logpersister.pipeline.rules import begun_by_others
from logpersister.pipeline.source import ReplaySource
from logpersister.pipeline.task import Task, TaskResources, work_error
from logpersister.pipeline.work import RangeOutcome, RangeWork, RevisionWork, TaskSpec
from logpersister.ranges import Range
from logpersister.records.escaping import QUARANTINE
from logpersister.records.type_names import names_of
from logpersister.report import logs
from logpersister.storage.facts import LEFT_OUT, VALUES
from logpersister.storage.left_out import LeftOutRange, note_left_out
from logpersister.storage.names import object_key
from logpersister.storage.ranges import SoughtRange, objects_of
from logpersister.storage.receipts import NO_TYPE
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class LeftOutNotes:
    """The notes of the ranges of a revision."""

    store: ObjectStore
    group: str
    revision: str

    def leave(self, writer: RangeResults) -> None:
        """Put the note of a range of which nothing is stored. Raises StorageError."""
        work = writer.work
        note = LeftOutRange(work.range, work.topic_id, work.generation, self.revision, writer.counts.dropped)
        # Of a range that Kafka has begun to delete, an earlier execution may have known more records.
        note_left_out(self.store, self.group, note, if_absent=work.partly_lost)


MOST_REVISIONS = 64
"""A topic may have a revision of its own, by its schema in a registry or by an override; they share connections."""


def run(spec: TaskSpec) -> Iterator[RangeOutcome]:
    """Execute a task in this process; yields one outcome for each range, whatever happens."""
    _log_as_json()
    begin_task()
    for part in spec.parts:
        yield from _run(spec.group, part, spec.source)


def _run(group: str, part: RevisionWork, source: ReplaySource | None) -> Iterator[RangeOutcome]:
    try:
        resources = _task_resources(group, part.revision, json.dumps(part.document), source)
    except Exception as error:  # where a worker cannot even start, it says so for each of its ranges
        for work in part.work:
            yield RangeOutcome(work.range, error=work_error(error))
        return
    for outcome in Task(part.work, resources).outcomes():
        yield replace(outcome, retries=retries.take())


@lru_cache(maxsize=1)
def _log_as_json() -> None:
    """Log to standard error: in local mode the driver takes the lines up, in a pod they are its log."""
    logs.configure("json", context={"worker": os.getpid()})
    logs.kafka_complaints.drop()  # the range fails with the reason, and the member watches the brokers


@lru_cache(maxsize=MOST_REVISIONS)
def _task_resources(group: str, revision: str, document: str, source: ReplaySource | None) -> TaskResources:
    parsed = json.loads(document)
    resource = resource_of(parsed)
    spec, connected = resource.spec, connections(resource)
    binding, of_types = table_of(parsed), tables_of(parsed)
    ids = {name: one.field_ids for name, one in of_types.items()}
    store = connected.store
    topic = CompiledTopic(spec, connected.writers_of, None if binding is None else binding.field_ids, ids)
    objects = _Objects(group, revision, original_of(parsed, revision), topic, store)
    others = begun_by_others(parsed, resource)
    dry_runs = partial(objects.dry_runs, others) if others else None
    return TaskResources(
        connected.reader if source is None else source.over(connected.reader),
        topic,
        objects.begin,
        Room.of(spec.storage.part_size, topic.formats.held_back),
        dry_runs,
        arrival_notes(store, group, spec),
        _leaving(
            store,
            group,
            objects.original,
            spec,
            of_types if binding is None else {NO_TYPE: binding},
            is_replay=source is not None,
        ),
        LeftOutNotes(store, group, revision).leave,
        EventTimes.of(spec),
    )


def _leaving(
    store: ObjectStore,
    group: str,
    revision: str,
    spec: Spec,
    bindings: Mapping[str, TableBinding],
    *,
    is_replay: bool,
) -> Callable[[RangeResults], None] | None:
    """Return what leaves a word for the tables of a topic; None: there is none that needs it."""
    if bindings:
        names, types = names_of(spec.types), spec.tables_of_types()
        return Receipts(store, group, revision, bindings, names, types, kept=is_replay).leave
    notes = folder_notes(store, group, spec)
    return None if notes is None else notes.leave


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of a revision in the bucket."""

    group: str
    revision: str
    original: str
    """The revision that they name as theirs."""
    topic: CompiledTopic
    store: ObjectStore

    def key(self, work: RangeWork, path: str) -> str:
        of, extension = work.range.partition, self.topic.formats.at(path).extension
        prefix = self.store.prefix
        return object_key(prefix, of.topic, path, work.generation, of.partition, work.range.start, extension)

    def begin(self, work: RangeWork, path: str) -> Upload:
        metadata = {
            "group": self.group,
            "generation": str(work.generation),
            "revision": self.original,
            "topic": work.range.partition.topic,
            "topic-id": work.topic_id or "",
            "partition": str(work.range.partition.partition),
            "start": str(work.range.start),
            "end": str(work.range.end),
        }
        if self.original != self.revision:
            metadata["rules"] = self.revision
        spec = self.topic.spec
        if spec.has_types:
            metadata["parser"] = "types"
        elif spec.parser.has_quarantine:
            metadata["parser"] = spec.parser.type
        if self.topic.lateness_at(work.horizon) is not None:
            metadata["horizon"] = str(work.horizon)
        if work.partly_lost:
            metadata["read-from"] = str(work.read_from)
        if path == QUARANTINE and not spec.keeps_refused_values:
            metadata[VALUES] = LEFT_OUT
        file_format = self.topic.formats.at(path)
        return self.store.writer(
            self.key(work, path),
            metadata,
            content_type=file_format.content_type,
            if_absent=work.partly_lost,
            sweep=work.again,
        )

    def dry_runs(self, others: str, works: Sequence[RangeWork]) -> Mapping[Range, DryRun]:
        """Return a dry run for each range of which something is stored, perhaps by others."""
        sought = {SoughtRange(work.range.partition, work.generation, work.range.start): work for work in works}
        paths = None if self.topic.spec.has_folders else ("", QUARANTINE)
        found: dict[Range, DryRun] = {}
        for one, stored in objects_of(self.store, sought, paths).items():
            work = sought[one]
            layout = self.topic.layout_at(work.horizon)
            found[work.range] = DryRun(work, self.group, layout, self.key, stored, others)
        return found
