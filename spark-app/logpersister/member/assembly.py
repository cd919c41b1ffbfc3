"""Connects everything that a member consists of: Kafka, S3 and Spark behind the ports of its cycle."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from logpersister.aside import in_a_thread
from logpersister.group.membership import Membership, MembershipSettings
from logpersister.group.offsets import LogReader, OffsetReader
from logpersister.kafka_client import client_config
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import Revision
from logpersister.manifest.secrets import Secrets
from logpersister.member.bounded import BoundedLog, Replay, SourcedJobs, SourceSampling
from logpersister.member.cycle import Cycle
from logpersister.member.duties import Duty
from logpersister.member.execution import MOST_JOBS
from logpersister.member.finishing import FinishDuty
from logpersister.member.horizons import BucketHorizons
from logpersister.member.listener import Listener
from logpersister.member.ports import Dependencies, Offsets
from logpersister.member.sampling import FormatSampler
from logpersister.member.state_store import BucketStateStore
from logpersister.member.tables import open_tables
from logpersister.member.telling import TellDuty, tellers
from logpersister.pipeline.connections import open_reader
from logpersister.pipeline.job import SparkJobs
from logpersister.pipeline.reader import KafkaReader
from logpersister.pipeline.session import start_spark
from logpersister.registry import Registries, open_schemas
from logpersister.storage.connection import Timeouts
from logpersister.storage.copies import open_copies
from logpersister.storage.store import ObjectStore, open_store

FOR_A_SNAPSHOT = Timeouts(connect=3.0, read=5.0, attempts=1)
"""Patience with another place: what it keeps waiting are all partitions, and it is asked again soon."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A member's parts, connected; the group is not yet joined."""

    group: Membership
    offsets: Offsets
    jobs: SparkJobs
    cycle: Cycle
    duties: Sequence[Duty] = ()
    """What this member does for whole topics, beside the cycle."""
    replay: Replay | None = None
    """What it stores again, if it is a member of a replay."""


@contextmanager
def assemble(
    resource: LogPersister,
    revision: Revision,
    secrets: Secrets,
    listener: Listener,
    *,
    member: str | None = None,
    instance_id: str | None = None,
    cores: int | None = None,
    wake: threading.Event | None = None,
    on_poll: Callable[[], None] = lambda: None,
    replay: Replay | None = None,
) -> Iterator[Assembly]:
    """Connect to Kafka and S3, start Spark; everything is closed in reverse at the end.

    Args:
        wake: set whenever the cycle has something to do.
        replay: the offsets that are stored, by a group of its own; None: the group's, without an end.
    """
    spec = resource.spec
    wake = wake or threading.Event()
    config = client_config(spec.kafka, secrets)
    with ExitStack() as stack:
        log = LogReader(config, read_committed=spec.kafka.reads_committed)
        stack.callback(log.close)
        offsets: Offsets = log if replay is None else BoundedLog(log, replay)
        store = stack.enter_context(open_store(spec.storage, secrets))
        reader = open_reader(resource, secrets)
        stack.callback(reader.close)
        registries = Registries(secrets)
        stack.callback(registries.close)
        schemas = open_schemas(resource, secrets)
        if schemas is not None:
            stack.callback(schemas.close)
        spark = start_spark(f"logpersister {resource.name}", spec.spark, cores)
        jobs = SparkJobs(spark, MOST_JOBS)
        stack.callback(jobs.close)
        group = Membership(
            config, _membership(resource, member, instance_id, replay), on_poll=on_poll, on_change=wake.set
        )
        stack.callback(group.stop)
        of_tables = open_tables(resource, config, store, secrets, listener)
        stack.callback(of_tables.close)
        horizons = BucketHorizons(resource, store)
        stack.callback(horizons.close)
        dependencies = Dependencies(
            group=group,
            register=group.register,
            offsets=offsets,
            state_store=BucketStateStore(
                store,
                resource.group_id,
                spec.generation,
                revision.hash,
                lambda there: open_store(there, secrets, timeouts=FOR_A_SNAPSHOT),
                in_folders=lambda topic: spec.for_topic(topic).has_folders,
                replay=None if replay is None else replay.bounds,
                on_failure=listener.bucket_failed,
            ),
            jobs=jobs if replay is None else SourcedJobs(jobs, replay),
            sampler=FormatSampler(
                reader if replay is None else _sampling(reader, replay, stack),
                resource.for_topic if schemas is None else schemas.resource_of,
                registries.of,
            ),
            schemas=schemas,
            tables=of_tables.bindings,
            horizons=horizons,
            aside=in_a_thread,
        )
        cycle = Cycle(resource, revision, dependencies, listener=listener, wake=wake)
        if replay is not None:
            cycle.resolver.start_offsets.begin_at = replay.begin_at
            cycle.cut_behind = replay.cut_behind
        duties = _duties(resource, config, secrets, store, listener, stack)
        # A replay leaves an Iceberg table alone: logpersister switch takes its files in. A Hive table is its own.
        has_table = replay is None or (spec.table is not None and spec.table.format == "hive")
        appending = of_tables.duties if has_table else ()
        yield Assembly(group, offsets, jobs, cycle, [*duties, *appending], replay)


def _sampling(reader: KafkaReader, replay: Replay, stack: ExitStack) -> SourceSampling:
    source = replay.source.over(reader)
    stack.callback(source.close)
    return SourceSampling(source, replay)


def _duties(
    resource: LogPersister,
    config: Mapping[str, Any],
    secrets: Secrets,
    store: ObjectStore,
    listener: Listener,
    stack: ExitStack,
) -> Sequence[Duty]:
    """Return the duties that the manifest asks for; each has a client of Kafka of its own."""
    if resource.spec.finish is None:
        return ()
    offsets = OffsetReader.of(resource, config)
    stack.callback(offsets.close)
    copies = stack.enter_context(open_copies(resource.spec.storage, secrets))
    whom = tellers(resource, store, copies, config, secrets)
    tell = [TellDuty(resource, teller, store, listener) for teller in whom]
    return [FinishDuty(resource, offsets, store, listener), *tell]


def _membership(
    resource: LogPersister, member: str | None, instance_id: str | None, replay: Replay | None
) -> MembershipSettings:
    kafka = resource.spec.kafka
    return MembershipSettings(
        group_id=resource.group_id if replay is None else replay.group_id,
        topics=kafka.topics or (),
        topic_pattern=kafka.subscription_pattern if kafka.topic_pattern is not None else None,
        instance_id=instance_id,
        client_id=member,
        session_timeout_seconds=kafka.session_timeout.total_seconds(),
        revocation_grace_seconds=resource.spec.shutdown_grace.total_seconds(),
    )
