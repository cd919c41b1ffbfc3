"""The last records of a topic, read as members read them and kept in memory."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from logpersister.cli import brokers
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.formats import binary
from logpersister.group.offsets import LogReader
from logpersister.kafka_client import BrokerReport
from logpersister.kafka_client.causes import in_words
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.pipeline.connections import open_reader
from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.ranges import Range, TopicPartition
from logpersister.report.human import plural, size

MOST_BYTES: Final = 64 << 20
"""Most bytes of a sample; it ends early when records are large."""
_NO_TIME: Final = -1
_ESTIMATE: Final = 1024
"""Bytes of a record, as long as none has been seen."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Records of a topic."""

    topic: str
    partitions: int
    batches: Sequence[tuple[TopicPartition, pa.RecordBatch]]
    """Columns of `records.schema`; of one partition in the order of offsets."""

    @property
    def records(self) -> int:
        return sum(batch.num_rows for _, batch in self.batches)

    @property
    def value_bytes(self) -> int:
        ends = (binary.offsets(binary.column(batch, "value")) for _, batch in self.batches)
        return sum(int(each[-1] - each[0]) for each in ends)

    @property
    def times(self) -> tuple[int, int] | None:
        """Return the least and the largest timestamp (ms); None: no record has one."""
        found = np.concatenate([batch.column("timestamp").to_numpy() for _, batch in self.batches])
        known = found[found != _NO_TIME]
        return (int(known.min()), int(known.max())) if len(known) else None

    def __str__(self) -> str:
        values = f"{size(self.value_bytes)} of values"
        return f"the last {plural(self.records, 'record')} of {plural(self.partitions, 'partition')}, {values}"


def take(arguments: argparse.Namespace, resource: LogPersister, secrets: Secrets) -> Sample:
    """Read the last ``--last`` records of a topic, as many of each partition. Raises `CommandError`."""
    found = brokers.reach(resource, secrets, arguments.timeout, some_topics=True)
    topic = _topic(arguments.topic, resource, found)
    config = brokers.config(resource, secrets, arguments.timeout, found)
    doing = f"the offsets of {topic} could not be read"
    ranges = brokers.patiently(
        doing, arguments.timeout, lambda: _last(config, resource, topic, found.topics[topic], arguments.last)
    )
    try:
        batches = _read(resource, secrets, ranges)
    except RangeReadError as error:
        raise UnreachableError(f"topic {topic} could not be read: {error}") from None
    if not batches:
        raise UnreachableError(f"topic {topic}: has no records; try again when it has some", may_pass=True)
    return Sample(topic, found.topics[topic], batches)


def _topic(named: str | None, resource: LogPersister, found: BrokerReport) -> str:
    """Return the topic that is meant: ``--topic``, or the only one of the manifest that exists."""
    kafka = resource.spec.kafka
    if named is not None:
        if named in found.refused:
            raise UnreachableError(str(found.refused[named]))
        if named not in found.topics:
            raise UnreachableError(f"--topic {named}: the manifest names no such topic, or Kafka does not have it")
        return named
    if len(found.topics) == 1:
        return next(iter(found.topics))
    if not found.topics:
        what = ", ".join(kafka.topics) if kafka.topics is not None else f'what matches "{kafka.topic_pattern}"'
        raise UnreachableError(f"Kafka does not have the topics of the manifest ({what})")
    some = ", ".join(sorted(found.topics)[:3])
    raise CommandError(
        f"the manifest is about {len(found.topics)} topics; name one with --topic, for example {some}", Exit.INVALID
    )


def _last(config: Mapping[str, Any], resource: LogPersister, topic: str, partitions: int, last: int) -> list[Range]:
    asked = [TopicPartition(topic, number) for number in range(partitions)]
    committed_only = resource.spec.kafka.reads_committed
    with closing(LogReader(config, read_committed=committed_only)) as reader:
        starts, ends = reader.log_starts(asked), reader.ends(asked)
    readable = [one for one in asked if one in starts.values and one in ends.values]
    for error in () if readable else (starts.errors | ends.errors).values():
        raise UnreachableError(f"topic {topic}: its offsets could not be read ({in_words(error)})")
    of_each = -(-last // max(1, len(readable)))
    spans = {one: (max(starts.values[one], ends.values[one] - of_each), ends.values[one]) for one in readable}
    return [Range(one, start, end) for one, (start, end) in spans.items() if start < end]


def _read(
    resource: LogPersister, secrets: Secrets, ranges: Sequence[Range]
) -> list[tuple[TopicPartition, pa.RecordBatch]]:
    """Return batches until there are enough bytes. Raises `RangeReadError`."""
    kept: list[tuple[TopicPartition, pa.RecordBatch]] = []
    left = MOST_BYTES
    with closing(open_reader(resource, secrets, headers=True)) as reader:
        for read in reader.read([ReadRequest(one, one.offsets * _ESTIMATE) for one in ranges]):
            for batch in read.batches():
                if batch.num_rows:
                    kept.append((read.range.partition, batch))
                    left -= batch.nbytes
                if left <= 0:
                    return kept
    return kept
