"""What `verify --deep` says of a table: each file of ours once among its live files."""

from collections.abc import Sequence
from typing import Any

from logpersister.ranges import Range, TopicPartition
from logpersister.records.escaping import QUARANTINE
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.names import ObjectName
from logpersister.storage.receipts import ReceiptName
from logpersister.tables.offsets import Held, Numbering
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.tables import TableContent, table_findings

HELD: Held = {Numbering(1, "id"): {0: 20}}


def stored(start: int, end: int, *, path: str = "dt=1", tombstones: int = 0, revision: str = "ours") -> StoredObject:
    name = ObjectName("clicks", 0, 1, start, path, ".parquet")
    range_ = Range(TopicPartition("clicks", 0), start, end)
    facts = ObjectFacts("g", 1, revision, "id", range_, start, end - 1, end - start, tombstones, "-")
    return StoredObject(f"clicks/{path}/{start}", name, 100, facts, "g")


def live(*objects: StoredObject) -> list[tuple[str, int]]:
    return [(f"s3://logs/{one.key}", one.facts.records if one.facts else 0) for one in objects]


def found(objects: Sequence[StoredObject], files: Sequence[tuple[str, int]], **content: Any) -> list[Finding]:
    arguments: dict[str, Any] = {"held": HELD, "receipts": []} | content
    told = TableContent("lake.clicks", files, **arguments)
    return list(table_findings("clicks", objects, told, "logs", lambda one: one == "ours", keeps_tombstones=False))


FIRST, SECOND, THIRD = stored(0, 10), stored(10, 20), stored(20, 30)


def test_each_file_once_is_well() -> None:
    others = [stored(0, 9, path=QUARANTINE), stored(0, 5, revision="before"), stored(15, 17, tombstones=2)]
    assert found([FIRST, SECOND, *others], live(FIRST, SECOND)) == []


def test_a_file_that_is_there_twice_or_not_is_found() -> None:
    twice, missing = found([FIRST, SECOND], live(FIRST, FIRST))
    assert (twice.kind, twice.key, twice.is_problem) == (Kind.TWICE_IN_TABLE, FIRST.key, True)
    assert (missing.kind, missing.key, missing.is_problem) == (Kind.NOT_IN_TABLE, SECOND.key, True)


def test_what_waits_is_told() -> None:
    assert found([FIRST, THIRD], live(FIRST)) == [], "it is not committed yet, or its receipt is on its way"
    [note] = found([FIRST, THIRD], live(FIRST), receipts=[ReceiptName(1, 0, 20)])
    assert (note.kind, note.is_problem) == (Kind.NOT_APPENDED, False)


def test_files_that_others_have_rewritten_are_compared_by_their_rows() -> None:
    assert found([FIRST, SECOND], [*live(FIRST), ("s3://logs/compacted", 10)]) == []
    [less] = found([FIRST, SECOND], [*live(FIRST), ("s3://logs/compacted", 9)])
    assert (less.kind, "has 19 rows" in less.message) == (Kind.NOT_IN_TABLE, True)
