"""What a member has for ``spec.table``: the columns of tables for its promises, and the duty that appends."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.manifest.problems import ManifestError, Problem
from logpersister.manifest.secrets import Secrets, storage_credentials
from logpersister.manifest.table import TableSpec
from logpersister.member.duties import Duty
from logpersister.member.hive_tables import hive_tables
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import TopicPartition
from logpersister.storage.store import ObjectStore
from logpersister.tables.access import catalog_login, glue_credentials
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.bindings import Bindings
from logpersister.tables.columns import table_columns
from logpersister.tables.duty import TableDuty


@dataclass(frozen=True, slots=True)
class MemberTables:
    """Nothing, where a manifest has no table."""

    bindings: Bindings[Any] | None = None
    duties: Sequence[Duty] = ()
    stack: ExitStack = field(default_factory=ExitStack)

    def close(self) -> None:
        self.stack.close()


def open_tables(
    resource: LogPersister, client_config: Mapping[str, Any], store: ObjectStore, secrets: Secrets
) -> MemberTables:
    """Return what a member has for its tables; nothing is asked yet.

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
    bindings = Bindings(store, group, spec.full_name, open_table, table_columns)
    stack.callback(bindings.close)
    reader = OffsetReader(client_config, group, read_committed=False)
    stack.callback(reader.close)
    duty = TableDuty(
        store,
        group,
        open_table,
        lambda topic: committed_positions(reader, topic),
        spec.commit_interval.total_seconds(),
        generation=resource.spec.generation,
    )
    return MemberTables(bindings, [duty], stack)


def table_opener(resource: LogPersister, spec: TableSpec, secrets: Secrets) -> "Callable[[str, int], Any]":
    """Return what opens the table of a topic and a generation.

    Its first call loads pyiceberg and opens the catalog; so does one after a Secret was rotated.
    """
    storage = resource.spec.storage
    known: list[tuple[Any, Any]] = []

    def catalog() -> Any:
        from logpersister.tables.catalog import open_catalog  # noqa: PLC0415 - takes a second, and memory

        own = glue_credentials(spec.catalog, storage, secrets)
        login = catalog_login(spec.catalog, secrets), storage_credentials(storage, secrets), own
        if not known or known[0][0] != login:
            known[:] = [(login, open_catalog(spec.catalog, storage, secrets))]
        return known[0][1]

    def opened(topic: str, generation: int) -> Any:
        from logpersister.tables.catalog import IcebergTable  # noqa: PLC0415

        return IcebergTable(catalog(), spec, topic, generation, resource.group_id, storage.bucket)

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
