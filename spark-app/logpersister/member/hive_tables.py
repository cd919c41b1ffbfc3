"""Hive tables of a member: their columns before its promises, and the duty that registers folders."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.table import GLUE_ID, TableSpec
from logpersister.manifest.rules.table_rules import registration
from logpersister.manifest.secrets import Secrets
from logpersister.records.time_folders import time_folders
from logpersister.storage import names
from logpersister.storage.receipts import NO_TYPE
from logpersister.storage.store import ObjectStore
from logpersister.tables.access import glue_credentials
from logpersister.tables.bindings import Bindings
from logpersister.tables.hive.columns import HiveColumns, columns_of
from logpersister.tables.hive.duty import RegisteredTopic, RegistrationDuty
from logpersister.tables.hive.table import HiveTable

if TYPE_CHECKING:
    from logpersister.tables.hive.metastore import Metastore

USER: Final = "ugi"
"""Property of a catalog, as pyiceberg has it: as whom a metastore acts."""


def hive_tables(
    resource: LogPersister, spec: TableSpec, store: ObjectStore, secrets: Secrets
) -> tuple[Bindings[HiveColumns], RegistrationDuty]:
    """Return both; nothing is asked yet."""
    topic_of = topic_opener(resource, spec, secrets)

    def name_of(topic: str, number: int, _type: str) -> str:
        return (resource.spec.table_of(topic) or spec).full_name(topic, number)

    def open_table(topic: str, _number: int, _type: str) -> HiveTable:
        return topic_of(topic).table

    bindings = Bindings(store, resource.group_id, name_of, open_table, lambda one: {NO_TYPE: columns_of(one)})

    def columns(topic: str) -> HiveColumns | None:
        of_topic = resource.for_topic(topic)
        return bindings.columns(topic) if of_topic.spec.row_schema.asks_registry else columns_of(of_topic)

    interval = spec.commit_interval.total_seconds()
    return bindings, RegistrationDuty(store, resource.group_id, topic_of, columns, interval)


def topic_opener(resource: LogPersister, spec: TableSpec, secrets: Secrets) -> Callable[[str], RegisteredTopic]:
    """Return what gives a topic with its table; it asks nobody."""
    metastore = _metastore(resource, spec, secrets)
    storage = resource.spec.storage

    def opened(topic: str) -> RegisteredTopic:
        of_topic = resource.for_topic(topic).spec
        levels = of_topic.output.partition_by
        folder = f"{storage.bucket}/{names.topic_prefix(storage.prefix, topic)}".rstrip("/")
        layout = time_folders(levels)
        return RegisteredTopic(
            HiveTable(metastore(), spec, (of_topic.table or spec).identifier(topic, resource.spec.generation), folder),
            tuple(level.folder_prefix for level in levels),
            registration(of_topic) or "onFirstObject",
            layout is not None and layout.depth == len(levels),
        )

    return opened


def _metastore(resource: LogPersister, spec: TableSpec, secrets: Secrets) -> "Callable[[], Metastore]":
    """Return what gives the client of the metastore: for Glue another one after its Secret was rotated."""
    catalog, storage = spec.catalog, resource.spec.storage
    if catalog.type == "hive":
        from logpersister.tables.hive.thrift_client import ThriftMetastore  # noqa: PLC0415 - loaded where it is needed

        one = ThriftMetastore(catalog.uri or "", catalog.properties.get(USER))
        return lambda: one
    from logpersister.tables.hive.glue_client import GlueMetastore  # noqa: PLC0415

    known: list[tuple[object, GlueMetastore]] = []

    def glue() -> GlueMetastore:
        credentials = glue_credentials(catalog, storage, secrets)
        if not known or known[0][0] != credentials:
            region, account = catalog.region or storage.region, catalog.properties.get(GLUE_ID)
            known[:] = [(credentials, GlueMetastore(region, catalog.uri, credentials, account))]
        return known[0][1]

    return glue
