"""The part of ``verify`` that looks into the Hive table of a topic: no object is read for it."""

from collections.abc import Iterable, Iterator

from logpersister.cli.compared_tables import ComparedTables, Objects, WritingOf
from logpersister.cli.exits import UnreachableError
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.secrets import Secrets
from logpersister.member.hive_tables import topic_opener
from logpersister.storage.finished import list_folders
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import TABLE, list_untold
from logpersister.tables.errors import TableError
from logpersister.tables.hive.duty import RegisteredTopic
from logpersister.tables.hive.folders import Partition, partition_of
from logpersister.verify.evidence import StoredObject
from logpersister.verify.missing_offsets import Reader
from logpersister.verify.partitions import RegisteredPartitions, partition_findings
from logpersister.verify.verification import TopicResult


def compared_tables(
    resource: LogPersister, store: ObjectStore, secrets: Secrets, reader: Reader, writing_of: WritingOf, *, deep: bool
) -> Objects:
    """Return what looks into the tables of a manifest: into those of Iceberg only if that is `deep`.

    `reader` reads records, and `writing_of` says how a revision has written them.
    """
    table = resource.spec.table
    if table is not None and table.format == "hive":
        return ComparedPartitions(resource, table, store, secrets)
    return ComparedTables(resource, store, secrets, reader, writing_of) if deep else Objects()


class ComparedPartitions(Objects):
    """Looks at the partitions before the objects of a topic are listed, and compares both afterwards."""

    def __init__(self, resource: LogPersister, spec: TableSpec, store: ObjectStore, secrets: Secrets) -> None:
        self._store, self._group = store, resource.group_id
        self._open = topic_opener(resource, spec, secrets)
        self._folders: dict[Partition, StoredObject] = {}
        self._registered: RegisteredPartitions | None = None

    def objects(self, topic: str, stored: Iterable[StoredObject]) -> Iterator[StoredObject]:
        of = self._open(topic)
        self._folders, self._registered = {}, self._look(topic, of)
        for one in stored:
            folder = partition_of(one.name.path, of.prefixes)
            if folder is not None:
                self._folders.setdefault(folder, one)
            yield one

    def compare(self, result: TopicResult) -> None:
        if self._registered is None:
            return
        of, topic = self._open(result.topic), result.topic
        finished = set(list_folders(self._store, self._group, topic)) if of.when == "onFinish" else set()

        def is_due(path: str) -> bool:
            return of.when != "onFinish" or any(path == one or path.startswith(f"{one}/") for one in finished)

        result.findings += partition_findings(topic, self._folders, self._registered, is_due=is_due)

    def _look(self, topic: str, of: RegisteredTopic) -> RegisteredPartitions | None:
        noted = {one.path for one in list_untold(self._store, self._group, TABLE).get(topic, ())}
        try:
            of.table.load(None)
            return RegisteredPartitions(of.table.name, set(of.table.partitions()), noted)
        except TableError as error:
            if error.reason == "no-table" and not noted:
                return None
            raise UnreachableError(f"topic {topic} cannot be compared with its table: {error}") from None
