"""When receipts are appended, to which table, and when somebody is asked."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from structlog.testing import capture_logs

from logpersister.backoff import PartlyFailedError
from logpersister.report.tables import TablesReport
from logpersister.storage.errors import StorageError
from logpersister.tables import duty as duty_module
from logpersister.tables.duty import TableDuty, TableListener
from logpersister.tables.errors import TableError
from tests.model.tables import TOPIC, SimulatedTable, World, duty_of


class Calm(Random):
    """Nothing fails, and answers are of now."""

    def random(self) -> float:
        return 1.0

    def choice(self, seq: Any) -> Any:
        return seq[0]


def calm(**of: Any) -> World:
    return World(Calm(0), switch=lambda: None, **of)


def stored(world: World, *ranges: tuple[int, int], generation: int = 1) -> None:
    for start, end in ranges:
        world.store(0, generation, start, end)
    world.commit(0, generation, ranges[-1][1])
    world.seen.clear()


def duty(world: World, generation: int = 1, **of: Any) -> TableDuty:
    return duty_of(world, generation=generation, **of)


def test_a_backlog_is_appended_at_once_and_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty_module, "READ_AT_ONCE", 2)
    monkeypatch.setattr(duty_module, "MOST_RECEIPTS", 4)
    world = calm()
    stored(world, *((n, n + 1) for n in range(10)))
    duty(world).perform(TOPIC)
    world.check_end()
    assert world.commits == 3


def test_a_higher_generation_is_the_remedy_for_a_hole() -> None:
    world = calm()
    stored(world, (0, 5))
    duty(world).perform(TOPIC)
    stored(world, (7, 9))
    with pytest.raises(TableError, match=r"Raise spec\.generation"):
        duty(world).perform(TOPIC)
    stored(world, (9, 12), generation=2)
    tested = duty(world, 2)
    with capture_logs() as logs:
        assert [tested.perform(TOPIC) for _ in range(2)] == [1.0, 1.0]
    assert [line["reason"] for line in logs if line["event"] == "table.given_up"] == ["gap"], "said once"
    assert world.head is not None
    assert world.head.files == ("1-0-0", "2-0-9")


def test_a_bucket_that_deletes_nothing_delays_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    world, asked = calm(), list[int]()

    def refuses(_: World, keys: Sequence[str]) -> None:
        asked.append(len(keys))
        raise StorageError("rejected", "no rights")

    tested = duty(world)
    with monkeypatch.context() as patch, capture_logs() as logs:
        patch.setattr(World, "delete_all", refuses)
        for end in (1, 2, 3):
            stored(world, (end - 1, end))
            assert tested.perform(TOPIC) == 1.0, "no failure, after which the next snapshot would come later"
        assert (world.commits, len(world.documents)) == (3, 3)
        assert asked == [1], "not asked again at once"
        assert [line["error"] for line in logs if line["event"] == "receipts.not_deleted"] == ["no rights"]
    duty(world).perform(TOPIC)
    assert (world.commits, len(world.documents)) == (3, 0), "a restart appends nothing twice"


class Heard(TableListener):
    """What was told."""

    def __init__(self) -> None:
        self.report = TablesReport(0)
        self.rows: list[tuple[str, str, int]] = []

    def tables(self, report: TablesReport) -> None:
        self.report = report

    def appended(self, topic: str, table: str, rows: int) -> None:
        self.rows.append((topic, table, rows))


def test_it_is_told_how_far_tables_are_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    world, heard = of_types("order", "refund"), Heard()
    tested = duty(world, listener=heard)
    stored_of(world, (0, "order refund"), (1, "order"))
    tested.perform(TOPIC)
    second = datetime.fromtimestamp(1, UTC)
    assert [(one.table, one.receipts, one.oldest, one.last_snapshot) for one in heard.report.tables] == [
        (world.tables[type_].name, 0, None, second) for type_ in ("order", "refund")
    ]
    assert heard.report.rows == sum(rows for _, _, rows in heard.rows) > 0
    assert {(topic, table) for topic, table, _ in heard.rows} == {
        (TOPIC, world.tables[type_].name) for type_ in ("order", "refund")
    }

    def fails(*_: Any) -> None:
        raise TableError("unavailable", "the catalog is away")

    before, first = heard.report.rows, world.time
    stored_of(world, (2, "refund"))
    world.time += timedelta(minutes=5)
    stored_of(world, (3, "refund order"))
    with monkeypatch.context() as patch:
        patch.setattr(SimulatedTable, "load", fails)
        with pytest.raises(PartlyFailedError):
            tested.perform(TOPIC)
    assert [(one.receipts, one.oldest) for one in heard.report.tables] == [(1, world.time), (2, first)]
    assert heard.report.rows == before
    tested.perform(TOPIC)
    assert [one.receipts for one in heard.report.tables] == [0, 0]
    tested.forget(TOPIC)
    assert heard.report.tables == ()


# tables of types


def of_types(*types: str) -> World:
    return World(Calm(0), switch=lambda: None, types=types)


def stored_of(world: World, *ranges: tuple[int, str], **without: Any) -> None:
    """Store ranges of ten offsets with rows of some types, and commit them."""
    for number, rows in ranges:
        world.store(0, 1, number * 10, number * 10 + 10, rows.split(), **without)
        world.commit(0, 1, number * 10 + 10)
    world.seen.clear()


def held_at(world: World, type_: str) -> int:
    """Return what a table says that it holds."""
    head = world.tables[type_].head
    return 0 if head is None else json.loads(head.ancestor.offsets or "{}")["1/id"]["0"]


def failure(tested: TableDuty) -> PartlyFailedError:
    with pytest.raises(PartlyFailedError) as raised:
        tested.perform(TOPIC)
    return raised.value


def test_sparse_tables_move_when_too_many_receipts_are_kept_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty_module, "MOST_KEPT", 4)
    world = of_types("a", "b")
    tested = duty(world)
    moved = []
    for number in range(12):
        stored_of(world, (number, "a"))
        tested.perform(TOPIC)
        world.time += timedelta(minutes=2)
        moved.append(world.tables["b"].commits)
    assert moved == [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2], "once four are kept, and not again at once"


def test_a_table_that_fails_stops_no_other_and_is_told() -> None:
    world = of_types("a", "b", "c")
    tested = duty(world)
    stored_of(world, (0, "a b c"), (1, "a b c"))
    broken = world.tables["b"]
    broken.fails = TableError("no-table", "table lake.clicks_b is not in the catalog")
    error = failure(tested)
    assert (str(error), error.seconds) == ("table lake.clicks_b is not in the catalog", 1.0)
    assert [world.tables[name].commits for name in "abc"] == [1, 0, 1]
    stored_of(world, (2, "a"))
    failure(tested)
    assert world.tables["a"].commits == 2
    broken.fails = None
    assert tested.perform(TOPIC) == 1.0
    assert (held_at(world, "b"), len(broken.head.files if broken.head else ())) == (30, 2)


def test_a_type_that_was_removed_with_its_table_is_given_up() -> None:
    world = of_types("a", "gone")
    stored_of(world, (0, "a gone"), (1, "a"))

    world.tables["gone"].fails = TableError("no-table", "it is not in the catalog")
    declared = {"a", "gone"}
    tested = duty(world, types=lambda _: frozenset(declared))
    failure(tested)
    assert len(world.documents) == 2
    declared.remove("gone")
    with capture_logs() as logs:
        tested.perform(TOPIC)
        tested.perform(TOPIC)
    assert [line["reason"] for line in logs if line["event"] == "table.given_up"] == ["no-table"]
    assert [json.loads(json.dumps(one))["start"] for one in world.documents.values()] == []


def test_rows_that_were_stored_without_their_table_are_a_gap_and_no_others() -> None:
    world = of_types("a", "b")
    tested = duty(world, without_table=lambda _: {"b": "type b is stored without its table: it refuses columns"})
    stored_of(world, (0, "a b"))
    stored_of(world, (1, "a"), without_table=["b"])
    stored_of(world, (2, "a b"), without_table=["b"])
    assert str(failure(tested)) == "type b is stored without its table: it refuses columns"
    assert held_at(world, "b") == 20, "the second one had no rows of it"
    stored_of(world, (3, "b"))
    mended = duty(world)
    assert "set its property logpersister.accepted-gaps to 0:20-30" in str(failure(mended))
    assert held_at(world, "a") == 30
    world.tables["b"].gaps = "0:20-30"
    mended.perform(TOPIC)
    assert held_at(world, "b") == 40
