"""The part of ``verify --deep`` that looks into the tables of a topic: that of its rows, or those of its types."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import resource_of
from logpersister.manifest.revisions.table_binding import table_of, tables_of
from logpersister.manifest.secrets import Secrets
from logpersister.member.tables import table_opener
from logpersister.ranges import TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.records.type_names import names_of
from logpersister.storage.current import Current, get_current
from logpersister.storage.receipts import NO_TYPE, list_receipts
from logpersister.storage.revisions import get_revision
from logpersister.storage.store import ObjectStore
from logpersister.tables.columns import table_columns
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, Numbering, held_by, held_to
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.missing_offsets import Reader
from logpersister.verify.table_rows import FileColumns, StoredRange, TableRows, folder_values
from logpersister.verify.tables import TableContent, table_findings
from logpersister.verify.verification import TopicResult
from logpersister.verify.writing import Writing

if TYPE_CHECKING:
    from logpersister.tables.live_rows import LiveRows
from logpersister.cli.exits import UnreachableError
from logpersister.manifest.blocks.table import TableSpec
from logpersister.member.hive_tables import topic_opener
from logpersister.storage.finished import list_folders
from logpersister.storage.untold import TABLE, list_untold
from logpersister.tables.hive.duty import RegisteredTopic
from logpersister.tables.hive.folders import Partition, partition_of
from logpersister.verify.tables import RegisteredPartitions, partition_findings

WritingOf = Callable[[str], Writing | str]
PLACES: Final = frozenset({"partition", "offset"})
"""Kafka's own fields by which a row is found."""


class Objects:
    """Lets objects pass by; there is no table."""

    def objects(self, topic: str, stored: Iterable[StoredObject]) -> Iterable[StoredObject]:  # noqa: ARG002
        return stored

    def compare(self, result: TopicResult) -> None:
        """Add what is found to the result of a topic, whose objects have passed by."""


@dataclass(slots=True)
class _Seen:
    """A table, and the objects that should be its files."""

    type: str
    content: TableContent
    uuid: str
    rows: "LiveRows"
    objects: list[StoredObject] = field(default_factory=list)


class ComparedTables(Objects):
    """Looks at the tables before the objects of their topic are listed, and compares both afterwards."""

    def __init__(
        self, resource: LogPersister, store: ObjectStore, secrets: Secrets, reader: Reader, writing_of: WritingOf
    ) -> None:
        self._resource, self._store = resource, store
        self._reader, self._writing_of = reader, writing_of
        spec = resource.spec.table
        self._open = None if spec is None else table_opener(resource, spec, secrets)
        self._seen: dict[str, _Seen] = {}
        """Table contents of the present topic, by type."""
        self._errors: list[str] = []
        self._written = lru_cache(self._written_by)

    def objects(self, topic: str, stored: Iterable[StoredObject]) -> Iterator[StoredObject]:
        self._seen, self._errors = {}, []
        current = get_current(self._store, self._resource.group_id, topic)
        if self._open is not None:
            self._look(topic, current)
        names = names_of(self._resource.spec.for_topic(topic).types)
        for one in stored:
            seen = self._seen.get(names.value_of(one.name.path) or NO_TYPE)
            if seen is not None and current.counts(one.name):
                seen.objects.append(one)
            yield one

    def compare(self, result: TopicResult) -> None:
        result.errors += self._errors
        for seen in self._seen.values():
            try:
                self._compare(seen, result)
            except TableError as error:
                result.errors.append(f"cannot be compared with its table: {error}")

    def _look(self, topic: str, current: Current) -> None:
        receipts = [name for name, _ in list_receipts(self._store, self._resource.group_id, topic)]
        spec = self._resource.spec.for_topic(topic)
        for type_ in spec.tables_of_types():
            try:
                self._seen[type_] = self._look_at(topic, type_, receipts, current)
            except TableError as error:
                if error.reason != "no-table" or receipts:
                    self._errors.append(f"cannot be compared with its table: {error}")

    def _look_at(self, topic: str, type_: str, receipts: Sequence[Any], current: Current) -> _Seen:
        assert self._open is not None
        loaded = self._open(topic, self._resource.spec.generation, type_).load()
        view = loaded.view
        live = [(one.file.key, one.file.records) for one in loaded.files()]
        content = TableContent(view.table, live, _holds(held_by(view), current), receipts)
        return _Seen(type_, content, view.uuid, loaded.rows)

    def _compare(self, seen: _Seen, result: TopicResult) -> None:
        """Compare files, then rows. Raises `TableError`."""
        table, has_places = seen.content.table, seen.rows.has_places
        spec = self._resource.spec.for_topic(result.topic).tables_of_types()[seen.type]
        result.findings += table_findings(
            result.topic,
            seen.objects,
            seen.content,
            self._store.storage.bucket,
            lambda revision: self._written(revision, seen.type, seen.uuid) is not None,
            keeps_tombstones=spec.output.tombstones == "null",
            counts_rows=not has_places,
        )
        if not has_places:
            told = (
                f"table {table} has no columns kafka_partition and kafka_offset, so its files and the number of its "
                "rows were compared, and not rows with records; see output.kafkaColumns"
            )
            result.findings.append(_note(result.topic, told))
            return
        ranges, without = self._ranges(seen)
        compared = TableRows(table, seen.rows, self._reader, result.readable).compare(ranges)
        result.findings += compared.findings
        result.table_rows = (result.table_rows or 0) + compared.compared
        self._tell_others(seen, result, without, compared.not_in_kafka)

    def _tell_others(self, seen: _Seen, result: TopicResult, without: int, not_in_kafka: int) -> None:
        table = seen.content.table
        if not_in_kafka:
            told = f"{not_in_kafka:,} rows of table {table} were counted only: Kafka has their records no more"
            result.findings.append(_note(result.topic, told))
        nameless = seen.rows.without_place()
        if nameless == without != 0:
            told = f"{without:,} rows of table {table} were counted only: their files have no partition and offset"
            result.findings.append(_note(result.topic, told))
        elif nameless != without:
            told = f"table {table} has {nameless:,} rows without partition and offset, and {without:,} were stored so"
            result.findings.append(Finding(Kind.NOT_IN_TABLE, TopicPartition(result.topic, 0), 0, 0, told))

    def _ranges(self, seen: _Seen) -> tuple[list[StoredRange], int]:
        """Return the ranges whose rows the table should have, and how many rows do not say of which record they are."""
        by_range: defaultdict[tuple[Any, ...], list[StoredObject]] = defaultdict(list)
        for one in seen.objects:
            facts = one.facts
            if facts is None or one.name.path == QUARANTINE or one.name.replay:
                continue
            if facts.range.end <= held_to(seen.content.held, one.name.generation, facts.topic_id, one.name.partition):
                by_range[facts.range, one.name.generation, facts.revision, facts.rules, facts.horizon].append(one)
        found, without = [], 0
        for (range_, generation, revision, rules, horizon), objects in by_range.items():
            written = self._written(revision, seen.type, seen.uuid)
            writing = self._writing_of(rules or revision)
            if written is None or isinstance(writing, str):
                continue  # `verify.deep` tells it of the objects
            columns, skips_tombstones, says_places = written
            records = {
                one.name.path: one.facts.records - ((one.facts.tombstones or 0) if skips_tombstones else 0)
                for one in objects
                if one.facts is not None
            }
            if not says_places:
                without += sum(records.values())
                continue
            values = {path: folder_values(writing.formats.names.inner(path)) for path in records}
            found.append(StoredRange(range_, generation, records, values, writing, columns, horizon))
        return found, without

    def _written_by(self, revision: str, type_: str, uuid: str) -> "tuple[FileColumns, bool, bool] | None":
        """Return what columns the files of a revision have for a table; None: they are none of its files.

        Then also whether null values are left out, and whether rows say of which record they are.
        """
        document = get_revision(self._store, self._resource.group_id, revision)
        if document is None:
            return None
        binding = table_of(document) if type_ == NO_TYPE else tables_of(document).get(type_)
        if binding is None or binding.uuid != uuid:
            return None
        resource = resource_of(document)
        resource = resource.model_copy(update={"spec": resource.spec.tables_of_types()[type_]})
        columns, output = table_columns(resource), resource.spec.output
        kafka = output.columns_of_kafka(has_schema=resource.spec.row_schema.has_columns)
        of_file = FileColumns(columns.files, binding.field_ids, columns.folders)
        return of_file, output.tombstones == "skip", set(kafka) >= PLACES


def _holds(held: Held, current: Current) -> Held:
    found = {of: dict(offsets) for of, offsets in held.items()}
    for partition, segments in current.partitions.items():
        for one in segments:
            offsets = found.setdefault(Numbering(one.generation, current.topic_id or ""), {})
            offsets[partition] = max(offsets.get(partition, 0), one.end)
    return found


def _note(topic: str, told: str) -> Finding:
    return Finding(Kind.NOT_COMPARED, TopicPartition(topic, 0), 0, 0, told)


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
