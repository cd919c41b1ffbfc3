"""Leaves the receipt of a range: what tables need to know of its objects (`storage.receipts`)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, Final, cast
from urllib.parse import unquote

import pyarrow.parquet as pq

from logpersister.formats.parquet.statistics import column_statistics, split_offsets
from logpersister.manifest.revisions.table_binding import TableBinding
from logpersister.pipeline.range_results import RangeResults
from logpersister.records.escaping import own_path
from logpersister.records.field_paths import NULL
from logpersister.records.type_names import ONE_NAME, Names
from logpersister.storage.errors import StorageError
from logpersister.storage.object_requests import StoredObject
from logpersister.storage.receipts import NO_TYPE, Receipt, TableFile, TableFiles, put_receipt
from logpersister.storage.sections import Sections
from logpersister.storage.store import ObjectStore

_READ_AHEAD: Final = 64 << 10
"""Bytes from the end of a file that are read at first: most footers are smaller."""


@dataclass(frozen=True, slots=True)
class Receipts:
    """The receipts of the ranges of a revision."""

    store: ObjectStore
    group: str
    revision: str
    """Revision that the objects name as theirs."""
    bindings: Mapping[str, TableBinding]
    """Table bindings by type; by `NO_TYPE` where the topic has no types."""
    names: Names = ONE_NAME
    """Gives the type of a path."""
    types: Collection[str] = ()
    """Types that should have tables; those without a binding are stored without theirs for now."""
    kept: bool = False
    """Whether they wait for a switch, because a replay stores the ranges, and not for the next snapshot."""

    def leave(self, writer: RangeResults) -> None:
        """Put the receipt of a range; waits for its objects. Raises StorageError, also where an object failed.

        Of a range that Kafka has begun to delete, an earlier execution may have stored more than this one could. Then
        its object stays (`if_absent`), and what stands there is what the table is told of.
        """
        work = writer.work
        files: dict[str, list[TableFile]] = {NO_TYPE: []} if NO_TYPE in self.bindings else {}
        for type_, file in self._files(writer, may_stand=work.partly_lost):
            files.setdefault(type_, []).append(file)
        tables = {}
        for type_, some in files.items():
            of = self.bindings[type_]
            tables[type_] = TableFiles(of.uuid, of.schema_id, of.spec_id, tuple(some))
        outside = {self._type_of(path)[0] for path in writer.paths} - self.bindings.keys()
        without = tuple(sorted(set(self.types) - tables.keys() - outside))
        receipt = Receipt(work.range, work.topic_id, work.generation, self.revision, tables, without)
        put_receipt(self.store, self.group, receipt, kept=self.kept)

    def _files(self, writer: RangeResults, *, may_stand: bool) -> Iterator[tuple[str, TableFile]]:
        for path, stored, facts in sorted(writer.table_files(), key=lambda one: one[0]):
            type_, inner = self._type_of(path)
            stands = may_stand and stored.existing
            file = self._standing(type_, inner, stored) if stands else self._file(inner, stored, facts)
            if file.records:
                yield type_, file

    def _type_of(self, path: str) -> tuple[str, str]:
        """Return the type of a path, and the path below its folder."""
        return self.names.value_of(path) or NO_TYPE, self.names.inner(path)

    def _file(self, path: str, stored: StoredObject, facts: Mapping[str, Any]) -> TableFile:
        return TableFile(
            stored.key, stored.bytes, facts["records"], partition_values(path), facts["columns"], tuple(facts["splits"])
        )

    def _standing(self, type_: str, path: str, stored: StoredObject) -> TableFile:
        """Return what an object is that was there before."""
        size = self.store.size(stored.key)
        if size is None:
            raise StorageError("other", f"object {stored.key!r} was there a moment ago, and is there no more")
        end = max(0, size - _READ_AHEAD)
        section = partial(self._section, stored.key)
        with pq.ParquetFile(cast("IO[bytes]", Sections(size, section, section(end, size), end))) as file:
            footer, schema = file.metadata, file.schema_arrow
        facts = {
            "records": footer.num_rows,
            "columns": column_statistics(footer, schema, self.bindings[type_].field_ids),
            "splits": split_offsets(footer),
        }
        return self._file(path, StoredObject(stored.key, size), facts)

    def _section(self, key: str, start: int, end: int) -> bytes:
        return self.store.read_piece(key, start, end - start)


def partition_values(path: str) -> tuple[str | None, ...]:
    """Return the values of the folders of a partition path, outermost first; None where a folder stands for null.

    A late record is a row of the partition that its own folder stands for.
    """
    values = (segment.partition("=")[2] for segment in own_path(path).split("/")) if path else ()
    return tuple(None if value == NULL else unquote(value) for value in values)  # the text itself is escaped
