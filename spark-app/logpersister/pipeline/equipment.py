"""Makes what the ranges of a revision are written with, once for each worker process and revision."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from logpersister.formats.registry import make_format
from logpersister.kafka_client import client_config
from logpersister.manifest import LogPersister
from logpersister.manifest.revision import resource_of
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.persist import Upload
from logpersister.pipeline.reader import KafkaReader, ReaderSettings
from logpersister.pipeline.retries import RetryTally
from logpersister.pipeline.task import Equipment, Task, work_error
from logpersister.pipeline.work import RangeOutcome, RangeWork, TaskSpec
from logpersister.records.quarantine import layout_of
from logpersister.report import logs
from logpersister.storage.names import object_key
from logpersister.storage.store import open_store

MOST_REVISIONS = 4
"""Revisions whose connections a worker keeps; more than one only while generations change."""


def run(spec: TaskSpec) -> Iterator[RangeOutcome]:
    """Execute a task in this process; yields one outcome for each range, whatever happens."""
    _log_as_json()
    try:
        equipment = _equipment(spec.group, spec.revision, json.dumps(spec.revision_document))
    except Exception as error:  # a worker that cannot even start says so for each of its ranges
        for work in spec.work:
            yield RangeOutcome(work.range, error=work_error(error))
        return
    for outcome in Task(spec.work, equipment).outcomes():
        yield replace(outcome, retries=_retries.take())


_retries = RetryTally()
"""Of this process."""


def open_reader(resource: LogPersister, secrets: Secrets) -> KafkaReader:
    """Return the reader that a manifest asks for; nothing is connected yet."""
    kafka = resource.spec.kafka
    settings = ReaderSettings(
        read_committed=kafka.isolation_level == "read_committed",
        headers=make_format(resource.spec.output).wants_headers,
        client_rack=kafka.client_rack,
    )
    return KafkaReader(client_config(kafka, secrets), settings)


@lru_cache(maxsize=1)
def _log_as_json() -> None:
    """Log to standard error: in local mode the driver takes the lines up, in a pod they are its log."""
    logs.configure("json", context={"worker": os.getpid()})


@lru_cache(maxsize=MOST_REVISIONS)
def _equipment(group: str, revision: str, document: str) -> Equipment:
    resource = resource_of(json.loads(document))
    secrets = Secrets()
    output, parser, prefix = resource.spec.output, resource.spec.parser, resource.spec.storage.prefix
    store = open_store(resource.spec.storage, secrets, on_retry=_retries.count)
    reader = open_reader(resource, secrets)
    _retries.watch(reader.stats.retries)
    file_format = make_format(output)

    def open_upload(work: RangeWork, path: str) -> Upload:
        partition = work.range.partition
        key = object_key(
            prefix,
            partition.topic,
            path,
            work.generation,
            partition.partition,
            work.range.start,
            file_format.extension,
        )
        metadata = {
            "group": group,
            "generation": str(work.generation),
            "revision": revision,
            "topic": partition.topic,
            "topic-id": work.topic_id or "",
            "partition": str(partition.partition),
            "start": str(work.range.start),
            "end": str(work.range.end),
        }
        if parser.has_quarantine:
            metadata["parser"] = parser.type
        if work.partly_lost:
            metadata["read-from"] = str(work.read_from)
        return store.writer(
            key,
            metadata,
            content_type=file_format.content_type,
            content_encoding=file_format.content_encoding,
            if_absent=work.partly_lost,
            sweep=work.again,
        )

    return Equipment(reader, layout_of(output, parser), file_format, open_upload)
