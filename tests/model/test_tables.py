"""Histories of appends to a table hold what is promised; broken appenders are caught."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from logpersister.storage.names import receipt_key
from logpersister.storage.receipts import Receipt, ReceiptName, delete_receipts, read_receipts
from logpersister.tables import appends as appends_module
from logpersister.tables import duty as duty_module
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.duty import TableDuty
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, Numbering, held_by
from tests.model import tables
from tests.model.tables import Violation, World, play

HISTORIES = 400
Patch = pytest.MonkeyPatch


def test_each_row_is_in_the_table_once_and_no_receipt_is_left() -> None:
    commits = sum(play(seed).commits for seed in range(HISTORIES))
    assert commits > 2 * HISTORIES


def test_a_rollback_stops_all_until_somebody_decides() -> None:
    stopped = 0
    for seed in range(100):
        world = play(seed, rolls_back=True)
        ours = world.head.ancestor.offsets if world.head else None
        if ours is None or not world.roll_back():
            continue
        world.random.random = lambda: 1.0  # type: ignore[method-assign]
        world.switch = lambda: None
        before = world.head
        key = next(iter(world.rows))
        receipt = world.rows[key]
        name = receipt_key("", tables.GROUP, receipt.range.partition, receipt.generation, receipt.range.start)
        world.documents[name] = receipt.document()
        with pytest.raises(TableError, match="was rolled back"):
            duty(world).perform(tables.TOPIC)
        assert world.head is before
        stopped += 1
    assert stopped > 20


def duty(world: World) -> TableDuty:
    return tables._duty(world)


# mutants


def append_before_commit(patch: Patch) -> None:
    patch.setattr(appends_module, "_is_committed", lambda receipt, position: position is not None)


def stale_offsets_count_for_a_replay(patch: Patch) -> None:
    def without_generation(receipt: Receipt, position: CommittedPosition | None) -> bool:
        return position is not None and receipt.range.end <= position.offset

    patch.setattr(appends_module, "_is_committed", without_generation)


def offsets_not_in_the_summary(patch: Patch) -> None:
    patch.setattr(tables, "held_text", lambda held: None)
    patch.setattr(tables, "last_text", lambda *_: None)


def offsets_without_generation(patch: Patch) -> None:
    patch.setattr(appends_module, "Numbering", lambda generation, topic_id: Numbering(1, topic_id))


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
    attempt = World.attempt

    def retried(world: World, version: int, base: Any, files: Any, held: Held) -> None:
        try:
            attempt(world, version, base, files, held)
        except TableError as error:
            if error.reason != "conflict":
                raise
            attempt(world, world.version, world.head, files, held)

    patch.setattr(World, "attempt", retried)


def a_lost_answer_is_sent_again(patch: Patch) -> None:
    attempt = World.attempt

    def sent_again(world: World, version: int, base: Any, files: Any, held: Held) -> None:
        try:
            attempt(world, version, base, files, held)
        except TableError as error:
            if error.reason != "unavailable":
                raise
            attempt(world, world.version, world.head, files, held)

    patch.setattr(World, "attempt", sent_again)


def held_is_remembered_and_not_loaded(patch: Patch) -> None:
    known: dict[int, Held] = {}
    patch.setattr(duty_module, "held_by", lambda view: known.setdefault(len(known) // 3, held_by(view)))


MUTANTS = [
    append_before_commit,
    stale_offsets_count_for_a_replay,
    offsets_not_in_the_summary,
    offsets_without_generation,
    receipts_deleted_below_committed,
    a_retried_append,
    a_lost_answer_is_sent_again,
    held_is_remembered_and_not_loaded,
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_broken_appender_is_caught(mutant: Callable[[Patch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    mutant(monkeypatch)
    with pytest.raises(Violation):
        for seed in range(HISTORIES):
            play(seed)
