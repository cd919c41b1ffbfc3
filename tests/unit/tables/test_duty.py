"""When receipts are appended, to which table, and when somebody is asked."""

from random import Random
from typing import Any

import pytest
from structlog.testing import capture_logs

from logpersister.storage.errors import StorageError
from logpersister.tables import duty as duty_module
from logpersister.tables.duty import TableDuty
from logpersister.tables.errors import TableError
from tests.model.tables import GROUP, TOPIC, World


class Calm(Random):
    """Nothing fails, and answers are of now."""

    def random(self) -> float:
        return 1.0

    def choice(self, seq: Any) -> Any:
        return seq[0]


class Second(World):
    """The table of another generation."""

    @property
    def name(self) -> str:
        return "lake.clicks_2"


def calm(kind: type[World] = World, **of: Any) -> World:
    return kind(Calm(0), switch=lambda: None, **of)


def stored(world: World, *ranges: tuple[int, int], generation: int = 1) -> None:
    for start, end in ranges:
        world.store(0, generation, start, end)
    world.commit(0, generation, ranges[-1][1])
    world.seen.clear()


def duty(world: World, second: World | None = None, generation: int = 1, **of: Any) -> TableDuty:
    store: Any = world
    tables = {1: world, 2: second or world}
    return TableDuty(
        store,
        GROUP,
        lambda _, number: tables[number],
        of.pop("positions", world.positions),
        60.0,
        generation=generation,
    )


def test_ranges_that_come_meanwhile_have_time_until_the_next_snapshot() -> None:
    world = calm()
    ends = iter(range(1, 50))

    def positions(topic: str) -> Any:
        end = next(ends)
        stored(world, (end - 1, end))
        return world.positions(topic)

    tested = duty(world, positions=positions)
    assert (tested.perform(TOPIC), world.commits, world.documents) == (60.0, 1, {})
    assert (tested.perform(TOPIC), world.commits, world.documents) == (60.0, 2, {})


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
    second = calm(Second, documents=world.documents, committed=world.committed, seen=world.seen, rows=world.rows)
    stored(world, (0, 3), (3, 5), generation=2)
    duty(world, second, generation=2).perform(TOPIC)
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
    tested = duty(world, generation=2)
    with capture_logs() as logs:
        assert [tested.perform(TOPIC) for _ in range(2)] == [60.0, 60.0]
    assert [line["reason"] for line in logs if line["event"] == "table.given_up"] == ["gap"], "said once"
    assert world.head is not None
    assert world.head.files == ("1-0-0", "2-0-9")


def test_a_bucket_that_deletes_nothing_delays_no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    world = calm()

    def refuses(*_: Any) -> None:
        raise StorageError("rejected", "no rights")

    monkeypatch.setattr(World, "delete_all", refuses)
    tested = duty(world)
    for end in (1, 2, 3):
        stored(world, (end - 1, end))
        with pytest.raises(StorageError):
            tested.perform(TOPIC)
    assert (world.commits, len(world.documents)) == (3, 3)
    with pytest.raises(StorageError):
        duty(world).perform(TOPIC)
    assert world.commits == 3, "a restart appends nothing twice"
