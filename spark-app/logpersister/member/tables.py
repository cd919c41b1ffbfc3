"""Iceberg tables of a member (``spec.table``): columns for its promises, and the duty that appends."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from logpersister.forms.problems import ManifestError, Problem
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.secrets import Secrets, storage_credentials
from logpersister.manifest.spec import Spec
from logpersister.member.duties import Duty
from logpersister.member.hive_tables import hive_tables
from logpersister.member.ports import Tables
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import TopicPartition
from logpersister.storage.receipts import NO_TYPE
from logpersister.storage.store import ObjectStore
from logpersister.tables.access import catalog_login, glue_credentials
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.bindings import Bindings
from logpersister.tables.columns import columns_by_type
from logpersister.tables.duty import TableDuty, TableListener
from logpersister.tables.errors import TableError


@dataclass(frozen=True, slots=True)
class MemberTables:
    """Nothing, where a manifest has no table."""

    bindings: Tables | None = None
    duties: Sequence[Duty] = ()
    stack: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        self.stack.close()


def open_tables(
    resource: LogPersister,
    client_config: Mapping[str, Any],
    store: ObjectStore,
    secrets: Secrets,
    listener: TableListener | None = None,
) -> MemberTables:
    """Return what a member has for its tables; nothing is asked yet. `listener` hears how far tables are.

    Raises ManifestError: a Secret or the library is missing.
    """
    spec, group = resource.spec.table, resource.group_id
    if spec is None:
        return MemberTables()
    for library in ("pyiceberg", *(["thrift"] if spec.catalog.type == "hive" else [])):
        if find_spec(library) is None:
            told = f"needs the library {library}, which is not installed"
            raise ManifestError([Problem("spec.table", told, "install logpersister[tables], or remove it")])
    catalog_login(spec.catalog, secrets)
    glue_credentials(spec.catalog, resource.spec.storage, secrets)
    stack = ExitStack()
    if spec.format == "hive":
        of_hive, duty_of_hive = hive_tables(resource, spec, store, secrets)
        stack.callback(of_hive.close)
        return MemberTables(of_hive, [duty_of_hive], stack)
    open_table = table_opener(resource, spec, secrets)

    def name_of(topic: str, number: int, type_: str) -> str:
        return _table(resource, topic, type_).full_name(topic, number)

    reader = OffsetReader(client_config, group, read_committed=False)
    stack.callback(reader.close)
    bindings = Bindings(store, group, name_of, open_table, columns_by_type)
    stack.callback(bindings.close)
    duty = TableDuty(
        store,
        group,
        open_table,
        name_of,
        lambda topic: committed_positions(reader, topic),
        spec.commit_interval.total_seconds(),
        generation=resource.spec.generation,
        types=lru_cache(lambda topic: types_of(resource.spec.for_topic(topic))),
        without_table=bindings.without_table,
        listener=listener,
    )
    return MemberTables(bindings, [duty], stack)


def types_of(spec: Spec) -> frozenset[str]:
    """Return the types of a topic that have tables; `NO_TYPE` of a topic without types."""
    return frozenset(spec.tables_of_types())


def _table(resource: LogPersister, topic: str, type_: str) -> TableSpec:
    spec = resource.spec.table_of(topic)
    assert spec is not None
    return spec if type_ == NO_TYPE else spec.for_type(type_)


def table_opener(resource: LogPersister, spec: TableSpec, secrets: Secrets) -> "Callable[[str, int, str], Any]":
    """Return what opens the table of a topic, a generation and a type; `NO_TYPE` of a topic without types.

    Its first call loads pyiceberg and opens the catalog; so does one after a Secret was rotated.
    """
    storage = resource.spec.storage
    known: list[tuple[Any, Any]] = []
    one_at_a_time = threading.Lock()  # tables of types are opened side by side

    def catalog() -> Any:
        from logpersister.tables.catalog import open_catalog  # noqa: PLC0415 - takes a second, and memory

        own = glue_credentials(spec.catalog, storage, secrets)
        login = catalog_login(spec.catalog, secrets), storage_credentials(storage, secrets), own
        with one_at_a_time:
            if not known or known[0][0] != login:
                known[:] = [(login, open_catalog(spec.catalog, storage, secrets))]
            return known[0][1]

    def opened(topic: str, generation: int, type_: str) -> Any:
        from logpersister.tables.catalog import IcebergTable  # noqa: PLC0415

        if (type_ == NO_TYPE) != (resource.spec.types is None):
            raise TableError(
                "other-table",
                f"receipts of topic {topic} are of a manifest with spec.types, or without it, unlike this one; raise "
                "spec.generation with such a change (docs/tables.md#tables-of-types)",
            )
        group, bucket = resource.group_id, storage.bucket
        return IcebergTable(catalog(), _table(resource, topic, type_), topic, generation, group, bucket, type_)

    return opened


def committed_positions(reader: OffsetReader, topic: str) -> dict[int, CommittedPosition]:
    """Return how far partitions are, by offsets with metadata of ours. The read is not fenced (`member.duties`)."""
    described = reader.describe([topic]).get(topic)
    if described is None:
        return {}
    found = reader.committed(TopicPartition(topic, number) for number in described.leaders)
    return {
        partition.partition: CommittedPosition(it.offset, it.metadata.generation, it.metadata.topic_id)
        for partition, it in found.items()
        if isinstance(it, CommittedOffset) and it.metadata is not None and it.metadata.topic_id == described.topic_id
    }
