"""Histories of appends to a table hold what is promised; broken appenders are caught."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from logpersister.backoff import PartlyFailedError
from logpersister.storage.receipts import NO_TYPE, Receipt, ReceiptName, delete_receipts, read_receipts
from logpersister.tables import appender as appender_module
from logpersister.tables import appends as appends_module
from logpersister.tables import duty as duty_module
from logpersister.tables.appender import Appender
from logpersister.tables.appends import Appends, CommittedPosition, Portion
from logpersister.tables.book import ReceiptBook, TableKey
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, Numbering, held_by, held_text, last_text
from tests.model import tables
from tests.model.tables import SimulatedTable, Violation, World, duty_of, play

HISTORIES = 400
Patch = pytest.MonkeyPatch


@pytest.mark.parametrize("has_types", [False, True], ids=["one table", "a table for each type"])
def test_each_row_is_in_its_table_once_and_no_receipt_is_left(has_types: bool) -> None:
    worlds = [play(seed, has_types=has_types) for seed in range(HISTORIES)]
    assert sum(world.commits for world in worlds) > 2 * HISTORIES
    if has_types:
        assert sum(bool(world.outside) for world in worlds) > HISTORIES / 10, "a type was stored without its table"
        assert sum(world.tables["rare"].commits for world in worlds) > HISTORIES


@pytest.mark.parametrize(("type_", "other"), [(NO_TYPE, None), ("refund", "order")])
def test_a_rollback_stops_its_table_until_somebody_decides_and_no_other(type_: str, other: str | None) -> None:
    stopped = 0
    for seed in range(150):
        world = play(seed, rolls_back=True, has_types=other is not None)
        table = world.tables[type_]
        ours = table.head.ancestor.offsets if table.head and table.head.files else None
        if ours is None or not table.roll_back():
            continue
        world.random.random = lambda: 1.0  # type: ignore[method-assign]
        world.switch = lambda: None
        before = table.head
        bring_back(world)
        with pytest.raises(PartlyFailedError if other else TableError, match=rf"{table.name}\b.* was rolled back"):
            duty_of(world).perform(tables.TOPIC)
        assert table.head is before
        if other is not None:
            head = world.tables[other].head
            assert {key for key, rows in world.rows.items() if rows.type == other} == set(head.files if head else ())
        stopped += 1
    assert stopped > 20


def bring_back(world: World) -> None:
    """Put all receipts once more, and commit all ranges."""
    for name, document in world.put_again.items():
        world.put(name, document)
    for partition in range(tables.PARTITIONS):
        world.commit(partition, 9, 1000)
    world.seen.clear()


# mutants


def append_before_commit(patch: Patch) -> None:
    patch.setattr(appends_module, "_is_committed", lambda portion, position: position is not None)


def stale_offsets_count_for_a_replay(patch: Patch) -> None:
    def without_generation(portion: Portion, position: CommittedPosition | None) -> bool:
        return position is not None and portion.range.end <= position.offset

    patch.setattr(appends_module, "_is_committed", without_generation)


def offsets_not_in_the_summary(patch: Patch) -> None:
    patch.setattr(tables, "held_text", lambda held: None)
    patch.setattr(tables, "last_text", lambda *_: None)


def offsets_without_generation(patch: Patch) -> None:
    patch.setattr(appends_module, "Numbering", lambda generation, topic_id: Numbering(1, topic_id))


def offsets_go_back(patch: Patch) -> None:
    """A summary names less than the table has, as that of a stale coordinator."""

    def lower(held: Held) -> Held:
        return {of: {partition: max(0, end - 1) for partition, end in ends.items()} for of, ends in held.items()}

    patch.setattr(tables, "held_text", lambda held: held_text(lower(held)))
    patch.setattr(tables, "last_text", lambda held, *rest: last_text(lower(held), *rest))


def receipts_deleted_below_committed(patch: Patch) -> None:
    read = read_receipts

    def reads_and_deletes(store: Any, group: str, topic: str, names: Sequence[ReceiptName]) -> list[Receipt]:
        found = read(store, group, topic, names)
        committed = store.committed
        here = [one for one in found if one.range.partition.partition in committed]
        done = [one.name for one in here if one.range.end <= committed[one.range.partition.partition].offset]
        delete_receipts(store, group, topic, done)
        return found

    patch.setattr(duty_module, "read_receipts", reads_and_deletes)


def a_retried_append(patch: Patch) -> None:
    """As pyiceberg's own appends do: onto whatever is there meanwhile."""
    _again_after(patch, "conflict")


def a_lost_answer_is_sent_again(patch: Patch) -> None:
    _again_after(patch, "unavailable")


def _again_after(patch: Patch, reason: str) -> None:
    attempt = SimulatedTable.attempt

    def again(table: SimulatedTable, version: int, base: Any, files: Any, held: Held) -> None:
        try:
            attempt(table, version, base, files, held)
        except TableError as error:
            if error.reason != reason:
                raise
            attempt(table, table.version, table.head, files, held)

    patch.setattr(SimulatedTable, "attempt", again)


def held_is_remembered_and_not_loaded(patch: Patch) -> None:
    known: dict[int, Held] = {}
    patch.setattr(appender_module, "held_by", lambda view: known.setdefault(len(known) // 3, held_by(view)))


def held_is_noted_before_the_commit(patch: Patch) -> None:
    commit = Appender._commit

    def noted(self: Appender, topic: Any, key: TableKey, loaded: Any, files: Any, found: Appends) -> None:
        topic.book.note_held(key, found.held)
        commit(self, topic, key, loaded, files, found)

    patch.setattr(Appender, "_commit", noted)


# of several tables


def a_receipt_is_deleted_when_one_of_its_tables_holds_it(patch: Patch) -> None:
    def done(book: ReceiptBook) -> list[ReceiptName]:
        return [name for name, entry in book._entries.items() if entry.left != entry.named]

    patch.setattr(ReceiptBook, "done", done)


def a_sparse_table_moves_before_its_rows(patch: Patch) -> None:
    commit = Appender._commit

    def moved(self: Appender, topic: Any, key: TableKey, loaded: Any, files: Any, found: Appends) -> None:
        commit(self, topic, key, loaded, [] if key.type == "rare" else files, found)

    patch.setattr(Appender, "_commit", moved)


def receipts_are_deleted_before_tables_without_rows_have_moved(patch: Patch) -> None:
    """Then nobody can tell any more whether these had rows."""

    def done(book: ReceiptBook) -> list[ReceiptName]:
        return [name for name, entry in book._entries.items() if not entry.left & entry.rows]

    patch.setattr(ReceiptBook, "done", done)


def what_a_receipt_does_not_name_has_no_rows(patch: Patch) -> None:
    add = ReceiptBook.add

    def names_all(book: ReceiptBook, receipt: Receipt, put: Any) -> None:
        others = tuple(type_ for type_ in tables.TYPES if type_ not in receipt.tables)
        add(book, replace(receipt, without=others), put)

    patch.setattr(ReceiptBook, "add", names_all)


def rows_of_any_table_count_for_all(patch: Patch) -> None:
    note = ReceiptBook.note_held

    def all_hold(book: ReceiptBook, key: TableKey, held: Held) -> None:
        for other in list(book._keys):
            note(book, other, held)

    patch.setattr(ReceiptBook, "note_held", all_hold)


MUTANTS = [
    append_before_commit,
    stale_offsets_count_for_a_replay,
    offsets_not_in_the_summary,
    offsets_without_generation,
    offsets_go_back,
    receipts_deleted_below_committed,
    a_retried_append,
    a_lost_answer_is_sent_again,
    held_is_remembered_and_not_loaded,
    held_is_noted_before_the_commit,
]
OF_SEVERAL_TABLES = [
    a_receipt_is_deleted_when_one_of_its_tables_holds_it,
    a_sparse_table_moves_before_its_rows,
    receipts_are_deleted_before_tables_without_rows_have_moved,
    what_a_receipt_does_not_name_has_no_rows,
    rows_of_any_table_count_for_all,
]


@pytest.mark.parametrize(
    ("mutant", "has_types"),
    [
        pytest.param(mutant, has_types, id=f"{mutant.__name__}-{'types' if has_types else 'one table'}")
        for has_types in (False, True)
        for mutant in (*MUTANTS, *(OF_SEVERAL_TABLES if has_types else ()))
    ],
)
def test_a_broken_appender_is_caught(mutant: Callable[[Patch], None], has_types: bool, monkeypatch: Patch) -> None:
    mutant(monkeypatch)
    with pytest.raises(Violation):
        for seed in range(HISTORIES):
            play(seed, has_types=has_types)
