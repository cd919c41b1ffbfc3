"""The part of ``verify --deep`` that looks into the table of a topic."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from logpersister.cli.exits import UnreachableError
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.table_binding import table_of
from logpersister.member.tables import table_opener
from logpersister.storage.receipts import NO_TYPE, list_receipts
from logpersister.storage.revisions import get_revision
from logpersister.storage.store import ObjectStore
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import held_by
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding
from logpersister.verify.tables import TableContent, table_findings


class Objects:
    """Lets objects pass by; there is no table."""

    def objects(self, topic: str, stored: Iterable[StoredObject]) -> Iterable[StoredObject]:  # noqa: ARG002
        return stored

    def findings(self, topic: str) -> Sequence[Finding]:  # noqa: ARG002
        return []


class ComparedTables(Objects):
    """Looks at the table before the objects of its topic are listed, and compares both afterwards."""

    def __init__(self, resource: LogPersister, store: ObjectStore, secrets: Secrets) -> None:
        self._resource, self._store = resource, store
        spec = resource.spec.table
        self._open = None if spec is None else table_opener(resource, spec, secrets)
        self._seen: list[StoredObject] = []
        self._content: TableContent | None = None

    def objects(self, topic: str, stored: Iterable[StoredObject]) -> Iterator[StoredObject]:
        self._seen = []
        if self._open is not None:
            self._content = self._look(topic)
        for one in stored:
            if self._content is not None:
                self._seen.append(one)
            yield one

    def findings(self, topic: str) -> Sequence[Finding]:
        if self._content is None:
            return []
        parquet = self._resource.spec.for_topic(topic).output.parquet
        return list(
            table_findings(
                topic,
                self._seen,
                self._content,
                self._store.storage.bucket,
                lru_cache(self._is_file),
                keeps_tombstones=parquet is not None and parquet.tombstones == "null",
            )
        )

    def _look(self, topic: str) -> TableContent | None:
        assert self._open is not None
        receipts = [name for name, _ in list_receipts(self._store, self._resource.group_id, topic)]
        try:
            loaded = self._open(topic, self._resource.spec.generation, NO_TYPE).load()
            return TableContent(loaded.view.table, list(loaded.live_files()), held_by(loaded.view), receipts)
        except TableError as error:
            if error.reason == "no-table" and not receipts:
                return None
            raise UnreachableError(f"topic {topic} cannot be compared with its table: {error}") from None

    def _is_file(self, revision: str) -> bool:
        """Whether what a revision has stored is of the table."""
        document = get_revision(self._store, self._resource.group_id, revision)
        return document is not None and table_of(document) is not None
