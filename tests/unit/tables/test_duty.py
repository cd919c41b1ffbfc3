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
from logpersister.tables.duty import LONGEST_KEPT, TableDuty, TableListener
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


def duty(world: World, generation: int = 1, second: SimulatedTable | None = None, **of: Any) -> TableDuty:
    """Return what appends, from generation 2 on perhaps to a `second` table."""
    return duty_of(world, generation=generation, second=second, **of)


def test_ranges_that_come_meanwhile_have_time_until_the_next_snapshot() -> None:
    world = calm()
    ends = iter(range(1, 50))

    def positions(topic: str) -> Any:
        end = next(ends)
        stored(world, (end - 1, end))
        return world.positions(topic)

    tested = duty(world, positions=positions)
    assert (tested.perform(TOPIC), world.commits, world.documents) == (1.0, 1, {})
    assert (tested.perform(TOPIC), world.commits, world.documents) == (1.0, 2, {})


def test_a_backlog_is_appended_at_once_and_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty_module, "READ_AT_ONCE", 2)
    monkeypatch.setattr(duty_module, "MOST_RECEIPTS", 4)
    world = calm()
    stored(world, *((n, n + 1) for n in range(10)))
    duty(world).perform(TOPIC)
    world.check_end()
    assert world.commits == 3


def test_what_receipts_say_of_columns_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duty_module, "READ_AT_ONCE", 2)
    monkeypatch.setattr(duty_module, "MOST_STATISTICS", 3)
    world = calm()
    stored(world, *((n, n + 1) for n in range(8)))
    for document in world.documents.values():
        document["files"][0]["columns"] = {"1": {"size": 1, "values": 1}}
    duty(world).perform(TOPIC)
    world.check_end()
    assert world.commits == 2


def test_what_a_lower_generation_has_left_goes_into_its_own_table() -> None:
    world = calm()
    stored(world, (0, 5))
    second = SimulatedTable(world, "", suffix="_2")
    stored(world, (0, 3), (3, 5), generation=2)
    for document in world.documents.values():
        if document["generation"] == 2:
            document["table"] = second.uuid
    duty(world, 2, second).perform(TOPIC)
    assert (world.head and world.head.files) == ("1-0-0",)
    assert (second.head and second.head.files) == ("2-0-0", "2-0-3")
    assert not world.documents


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


def test_only_tables_with_new_rows_get_a_snapshot_and_a_receipt_stays_for_the_others() -> None:
    world = of_types("a", "b", "c")
    tested = duty(world)
    stored_of(world, (0, "a b"), (1, "a"), (2, "a b"))
    tested.perform(TOPIC)
    assert [world.tables[name].commits for name in "abc"] == [1, 1, 0]
    assert (held_at(world, "a"), held_at(world, "b"), len(world.documents)) == (30, 30, 3)
    stored_of(world, (3, "a"))
    tested.perform(TOPIC)
    assert [world.tables[name].commits for name in "abc"] == [2, 1, 0]
    stored_of(world, (4, "c"))
    tested.perform(TOPIC)
    assert held_at(world, "c") == 50, "each receipt before says that there were no rows"
    assert len(world.documents) == 2, "those that all three hold are deleted"


def test_sparse_tables_move_once_in_a_while_so_that_receipts_can_go() -> None:
    world = of_types("a", "b")
    tested = duty(world)
    stored_of(world, *((number, "a") for number in range(5)))
    tested.perform(TOPIC)
    world.time += LONGEST_KEPT / 2
    tested.perform(TOPIC)
    assert (world.tables["b"].commits, len(world.documents)) == (0, 5)
    world.time += LONGEST_KEPT
    tested.perform(TOPIC)
    assert (world.tables["b"].commits, held_at(world, "b"), world.documents) == (1, 50, {})


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


def test_a_catalog_that_is_away_is_not_asked_for_each_table() -> None:
    world = of_types(*(f"t{number}" for number in range(20)))
    tested = duty(world)
    stored_of(world, (0, " ".join(world.types)))
    for table in world.tables.values():
        table.fails = TableError("unavailable", f"{table.name} does not answer")
    failure(tested)
    failure(tested)
    assert sorted(table.loads for table in world.tables.values()) == [0] * 18 + [1, 1], "one, and then another one"


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


def test_receipts_of_a_table_of_the_whole_topic_are_not_those_of_its_types() -> None:
    world = of_types("a", "")
    stored_of(world, (0, "a"))
    world.store(0, 1, 10, 20, [""])
    world.commit(0, 1, 20)
    world.tables[""].fails = TableError("other-table", "no")
    assert str(failure(duty(world, types=lambda _: frozenset("a")))) == "no"
    assert world.tables["a"].commits == 1


def test_what_waits_for_a_person_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = of_types("a", "b")
    tested = duty(world)
    stored_of(world, *((number, "a b") for number in range(8)))
    world.tables["b"].fails = TableError("no-table", "no")
    failure(tested)
    read: list[str] = []
    get = World.get_json

    def reads(self: World, key: str) -> Any:
        read.append(key)
        return get(self, key)

    monkeypatch.setattr(World, "get_json", reads)
    stored_of(world, (8, "a"))
    failure(tested)
    assert len(read) == 1
