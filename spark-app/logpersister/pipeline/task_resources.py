"""Makes what the ranges of a revision are written with, once for each worker process and revision."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from logpersister.formats.base import Format
from logpersister.formats.quarantine import format_at
from logpersister.formats.registry import make_format
from logpersister.kafka_client import client_config
from logpersister.manifest import LogPersister
from logpersister.manifest.revision import original_of, resource_of, without_output_schema
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.dry_run import DryRun
from logpersister.pipeline.persist import Upload
from logpersister.pipeline.reader import KafkaReader, ReaderSettings
from logpersister.pipeline.retries import RetryTally
from logpersister.pipeline.room import Room
from logpersister.pipeline.rules import begun_by_others
from logpersister.pipeline.task import Task, TaskResources, work_error
from logpersister.pipeline.work import RangeOutcome, RangeWork, TaskSpec
from logpersister.ranges import Range
from logpersister.records.columns import most_rows
from logpersister.records.escaping import QUARANTINE
from logpersister.records.paths import Layout
from logpersister.records.quarantine import layout_of
from logpersister.registry import RegistryWriters, open_writers
from logpersister.report import logs
from logpersister.storage.names import object_key
from logpersister.storage.ranges import SoughtRange, objects_of
from logpersister.storage.store import ObjectStore, open_store

MOST_CONNECTIONS = 4
"""Revisions whose connections a worker keeps; more than one only while generations change."""
MOST_REVISIONS = 64
"""Where a registry declares the columns, each topic has a revision with its schema; they share connections."""


def run(spec: TaskSpec) -> Iterator[RangeOutcome]:
    """Execute a task in this process; yields one outcome for each range, whatever happens."""
    _log_as_json()
    try:
        resources = _task_resources(spec.group, spec.revision, json.dumps(spec.revision_document))
    except Exception as error:  # a worker that cannot even start says so for each of its ranges
        for work in spec.work:
            yield RangeOutcome(work.range, error=work_error(error))
        return
    for outcome in Task(spec.work, resources).outcomes():
        yield replace(outcome, retries=_retries.take())


_retries = RetryTally()
"""Of this process."""


def open_reader(resource: LogPersister, secrets: Secrets, *, headers: bool = False) -> KafkaReader:
    """Return the reader that a manifest asks for, not connected yet; `headers`: even if its format has none."""
    kafka = resource.spec.kafka
    settings = ReaderSettings(
        read_committed=kafka.isolation_level == "read_committed",
        headers=headers or _format_of(resource).wants_headers,
        client_rack=kafka.client_rack,
    )
    return KafkaReader(client_config(kafka, secrets), settings)


def _format_of(resource: LogPersister) -> Format:
    spec = resource.spec
    return make_format(spec.output, spec.parser, spec.row_schema)


@lru_cache(maxsize=1)
def _log_as_json() -> None:
    """Log to standard error: in local mode the driver takes the lines up, in a pod they are its log."""
    logs.configure("json", context={"worker": os.getpid()})
    logs.kafka_complaints.drop()  # the range fails with the reason, and the member watches the brokers


@dataclass(frozen=True, slots=True)
class _Connections:
    """What the ranges of a revision are read from and written to."""

    store: ObjectStore
    reader: KafkaReader
    writers: RegistryWriters | None


@lru_cache(maxsize=MOST_CONNECTIONS)
def _connections(document: str) -> _Connections:
    resource, secrets = resource_of(json.loads(document)), Secrets()
    reader = open_reader(resource, secrets)
    _retries.watch(reader.stats.retries)
    store = open_store(resource.spec.storage, secrets, on_retry=_retries.count)
    return _Connections(store, reader, open_writers(resource, secrets))


@lru_cache(maxsize=MOST_REVISIONS)
def _task_resources(group: str, revision: str, document: str) -> TaskResources:
    parsed = json.loads(document)
    resource = resource_of(parsed)
    connections = _connections(json.dumps(without_output_schema(parsed)))
    store, file_format = connections.store, _format_of(resource)
    layout = layout_of(resource.spec.output, resource.spec.parser, resource.spec.row_schema, connections.writers)
    objects = _Objects(group, revision, original_of(parsed, revision), resource, store, layout, file_format)
    others = begun_by_others(parsed, resource)
    dry_runs = partial(objects.dry_runs, others) if others else None
    schema = resource.spec.row_schema
    return TaskResources(
        connections.reader,
        layout,
        file_format,
        objects.begin,
        Room.of(resource.spec.storage.part_size, file_format.held_back),
        dry_runs,
        most_rows(schema) if schema is not None else None,
        resource.spec.parser.quarantine.hold_above,
    )


@dataclass(frozen=True, slots=True)
class _Objects:
    """The objects of a revision in the bucket."""

    group: str
    revision: str
    original: str
    """The revision that they name as theirs."""
    resource: LogPersister
    store: ObjectStore
    layout: Layout
    file_format: Format

    def key(self, work: RangeWork, path: str) -> str:
        of, extension = work.range.partition, format_at(self.file_format, path).extension
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
        if self.resource.spec.parser.has_quarantine:
            metadata["parser"] = self.resource.spec.parser.type
        if work.partly_lost:
            metadata["read-from"] = str(work.read_from)
        file_format = format_at(self.file_format, path)
        return self.store.writer(
            self.key(work, path),
            metadata,
            content_type=file_format.content_type,
            content_encoding=file_format.content_encoding,
            if_absent=work.partly_lost,
            sweep=work.again,
        )

    def dry_runs(self, others: str, works: Sequence[RangeWork]) -> Mapping[Range, DryRun]:
        """Return a dry run for each range of which something is stored, perhaps by others."""
        sought = {SoughtRange(work.range.partition, work.generation, work.range.start): work for work in works}
        paths = None if self.resource.spec.output.partition_by else ("", QUARANTINE)
        return {
            sought[one].range: DryRun(sought[one], self.group, self.layout, self.key, stored, others)
            for one, stored in objects_of(self.store, sought, paths).items()
        }
