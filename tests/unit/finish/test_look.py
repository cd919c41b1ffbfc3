"""Which folders are finished when: partitions, idleness, late records, other processes; in a world in memory."""

from collections.abc import Mapping

import pytest

from logpersister.finish.by_hand import SOMETHING_CAME, State, judge
from logpersister.finish.positions import Positions
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from tests.unit.finish.world import HOUR_MS, MIDNIGHT_MS, OF_A_FIELD, TOPIC, World, hour, spec


def hours_later(world: World, hours: float) -> list[str]:
    world.at(hours)
    world.look()
    return world.finished()


def test_a_folder_is_finished_when_every_partition_has_passed_its_end_and_the_lateness() -> None:
    world = World(partitions=2)
    world.produce(0, 0.5, 1 + 10 / 60)
    world.produce(1, 0.5, 1 + 9 / 60)
    world.store_range(0)
    world.store_range(1)
    world.at(1.5)
    look = world.look()
    assert (look.finished, world.finished(), look.waiting and look.waiting.path) == ([], [], hour(0))
    assert look.reason == (
        "partition 1 has no record of 2026-03-28T01:10:00Z or later, and is idle for 0 of 3600 seconds"
    )
    world.produce(1, 1 + 10 / 60)
    assert hours_later(world, 1.5) == [hour(0)], "that record itself need not be stored"


def test_not_before_what_is_earlier_is_stored() -> None:
    world = World()
    world.produce(0, 0.5, 0.6, 1.5)
    world.store_range(0, 1)
    world.at(2)
    look = world.look()
    assert look.reason == "partition 0 is stored up to offset 1 of 3, and records before offset 2 are earlier"
    world.store_range(0, 2)
    assert hours_later(world, 2) == [hour(0)]
    assert world.content(hour(0)) == {
        "topic": TOPIC,
        "folder": hour(0),
        "end": "2026-03-28T01:00:00Z",
        "number": 1,
        "records": 2,
        "bytes": 20,
        "lateRecords": 0,
        "offsets": {"0": 2},
        "objects": [
            {
                "name": f"1_0_{start:020d}.txt.gz",
                "partition": 0,
                "generation": 1,
                "start": start,
                "records": 1,
                "bytes": 10,
            }
            for start in (0, 1)
        ],
    }


def test_the_manifest_and_the_marks_are_there_before_the_success_file() -> None:
    world = World(partitions=2)
    world.produce(0, 0.5, 2)
    world.produce(1, 2)
    world.store_range(0)
    world.store_range(1)
    hours_later(world, 2)
    names = [key.rpartition("/")[2] for key in world.store.written if f"raw/{TOPIC}/" in key]
    assert (names[0], set(names[1:3]), names[3]) == ("_manifest.json", {".0.done", ".1.done"}, "_SUCCESS")
    assert "finished" in world.store.written[-1], "noted last, so that who dies before it does all of it again"


@pytest.mark.parametrize("generation", [1, 2])
def test_what_comes_while_a_marker_is_refused_is_late(generation: int) -> None:
    world = World()
    world.store_new(0, 0.5, 2)
    world.at(2)

    def refuse() -> None:
        if world.store.written and world.store.written[-1].endswith("_manifest.json"):
            raise StorageError("throttled", "SlowDown")

    world.store.before_write = refuse
    with pytest.raises(StorageError):
        world.look()
    assert (world.finished(), world.content(hour(0))["number"]) == ([], 1)
    world.store.before_write = lambda: None
    world.generation = generation
    world.store_new(0, 0.6)
    (first,) = world.look(world.new_finisher()).finished
    assert (first.published.number, first.published.late_records) == (2, 1)
    assert (world.content(hour(0))["lateRecords"], world.finished()) == (1, [hour(0)])


def test_it_is_said_which_partitions_have_passed_by_a_guess() -> None:
    """Partition 1 is idle; 2 has a record from the future; 3 has no record at all, and 0 passes the first hour only."""
    world = World(partitions=4)
    world.produce(0, 0.5, 1.5)
    world.produce(1, 0.5)
    world.produce(2, 0.5, 24 * 365 * 50)
    for number in (0, 1, 2):
        world.store_range(number)
    world.at(1.2)
    world.look()
    world.at(2.4)
    world.store_new(2, 1.7)
    [finished] = world.look().finished
    assert (finished.folder.path, finished.guesses) == (hour(0), {1: "idle", 2: "future", 3: "idle"})


def test_a_guess_by_a_field_is_said_and_none_by_the_clock() -> None:
    world = by_field(partitions=2)
    world.at(0.6)
    world.produce(0, 0.5)
    world.produce(1, 0.5)
    world.at(1.3)
    world.produce(1, 1.25)
    world.store_range(0)
    world.store_range(1)
    world.look()
    world.at(2.4)
    assert [(one.folder.path, one.guesses) for one in world.look().finished] == [
        (hour(0), {0: "idle"}),
        (hour(1), {0: "idle", 1: "idle"}),
    ]
    by_clock = World(spec=spec(trigger="process-time"))
    by_clock.produce(0, 0.5)
    by_clock.store_range(0)
    by_clock.at(2)
    assert [one.guesses for one in by_clock.look().finished] == [{}]


def test_types_are_not_listed_again_and_again_while_a_partition_holds_them_back() -> None:
    world = World(partitions=2, has_types=True)
    world.store_new(0, 0.2, 0.3, 0.5, 1.5)
    world.at(1.5)
    assert world.look().waiting is not None
    listings = world.store.listings
    world.at(1.52)
    look = world.look()
    assert look.waiting is not None
    assert look.reason.startswith("partition 1 has no record of")
    assert world.store.listings == listings + 1, "that of arrivals"
    world.produce(1, 1.2)
    assert hours_later(world, 1.53) == [f"type=order/{hour(0)}"]


def by_field(partitions: int = 1) -> World:
    return World(partitions, rules=OF_A_FIELD)


def test_a_late_record_does_not_wait_for_a_folder_of_its_range_that_is_not_finished() -> None:
    """Another partition holds that one back; found by `make chaos`."""
    world = World(2)
    world.at(1.3)
    for partition in (0, 1):
        world.store_new(partition, 0.5, 1.2)
    world.look()
    assert world.finished() == [hour(0)]
    world.at(2.2)
    world.store_new(0, 0.7, 1.9, 2.2)
    for _ in range(3):
        world.look()
    assert world.finished() == [hour(0)]
    assert (world.content(hour(0))["number"], world.content(hour(0))["records"]) == (2, 3)
    assert world.arrivals() == 1, "it is kept for the hour that is not finished"
    world.finisher = world.new_finisher()
    written = len(world.store.written)
    world.look()
    others = [key for key in world.store.written[written:] if not key.endswith(f"{hour(1)}/.0.done")]
    assert others == [], "and for that one only: whoever takes over repeats nothing"
    world.at(2.5)
    world.store_new(1, 2.4)
    world.look()
    assert world.finished() == [hour(0), hour(1)]
    assert (world.content(hour(0))["number"], world.arrivals()) == (2, 0)


def raised(world: World) -> None:
    """A higher generation takes over."""
    world.generation += 1
    world.finisher = world.new_finisher()


def test_a_generation_that_goes_on_behind_another_one_takes_over_its_horizon() -> None:
    """Once each partition that has something to be stored is in it; nothing has to be finished for that."""
    world = World(partitions=3, spec=spec(late="folder"))
    for partition in range(3):
        world.store_new(partition, 0.5, 2)
    hours_later(world, 4)
    finished = world.horizon()
    assert finished == MIDNIGHT_MS + HOUR_MS
    world.produce(0, 3.9)
    world.produce(1, 3.9)
    raised(world)
    world.look()
    assert world.horizon() is None, "two partitions have more, and nobody knows where this generation begins"
    world.store_range(0)
    world.look()
    assert world.horizon() is None
    world.store_range(1)
    assert world.look().finished == []
    assert (world.horizon(), world.horizon(1)) == (finished, finished), "the third one has all stored"


def test_a_replay_has_no_horizon_before_it_has_passed_what_is_finished() -> None:
    world = World(spec=spec(late="folder"))
    world.store_new(0, 0.5, 1.5, 2.5, 3.5)
    assert hours_later(world, 3.2) == [hour(0), hour(1)]
    assert world.horizon() == MIDNIGHT_MS + 2 * HOUR_MS
    raised(world)
    world.partitions[0].committed = CommittedOffset(0, None)
    world.look()
    for offset in (1, 2):
        world.commit(0, offset)
        world.look()
        assert world.horizon() == (None if offset == 1 else MIDNIGHT_MS + 2 * HOUR_MS)


def test_a_look_at_a_long_backlog_lists_no_more_than_it_finishes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logpersister.finish.look.MOST_FOLDERS", 4)
    world = World()
    world.store_new(0, *range(24 * 50), 24 * 60)
    world.at(24 * 60)
    for look in range(1, 30):
        before = world.store.listings
        assert world.look().more
        assert world.store.listings - before <= 10, "the notes, then twice the days and hours of at most two; 4 folders"
        assert len(world.finished()) == 4 * look


@pytest.mark.parametrize(
    "committed", [None, CommittedOffset(3, None), CommittedOffset(3, OffsetMetadata("another topic", 1))]
)
def test_an_offset_that_is_not_ours_says_nothing(committed: CommittedOffset | None) -> None:
    world = World()
    world.store_new(0, 0.5, 0.6, 2)
    world.partitions[0].committed = committed
    assert hours_later(world, 2) == []


def test_a_bucket_that_deletes_nothing_delays_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has come late is published once, and folders behind it are finished, though the note of it stays."""

    def refuses(_: object, key: str) -> None:
        raise StorageError("rejected", f"no rights for {key}")

    world = World()
    world.store_new(0, 0.5, 0.6, 1.5, 3)
    hours_later(world, 1.8)
    world.store_new(0, 0.7)
    with monkeypatch.context() as patch:
        patch.setattr(type(world.store), "delete", refuses)
        hours_later(world, 3)
        world.look()
        assert (world.arrivals(), world.content(hour(0))["number"]) == (1, 2)
    world.look()
    assert (world.arrivals(), world.content(hour(0))["number"]) == (0, 2)


def test_a_copy_of_an_object_in_a_folder_is_told_and_is_in_no_manifest() -> None:
    """Readers of the manifest would read its records twice."""
    world = World(partitions=2)
    for partition in (0, 1):
        world.store_new(partition, 0.5, 2)
    (key,) = (key for key in world.store.objects if f"/{hour(0)}/1_0_" in key)
    world.store.objects[key.replace("1_0_", "1_7_")] = world.store.objects[key]
    with pytest.raises(ForeignObjectError, match=r"1_7_\S+ has the metadata of generation 1 of clicks-0 .* was copied"):
        hours_later(world, 2)
    assert world.finished() == []
    del world.store.objects[key.replace("1_0_", "1_7_")]
    world.look()
    assert world.finished() == [hour(0)]


def test_by_hand_with_reasons() -> None:
    world = World(partitions=2)
    world.produce(0, 0.5, 1.5, 2.5)
    world.produce(1, 1.2)
    world.store_range(0)
    world.store_range(1)
    world.at(2.6)
    (first, second, third) = judge(world.finisher, dry_run=True)
    assert (first.state, second.state, third.state) == (State.NOW, State.WAITS, State.OPEN)
    assert list(second.reasons) == [1]
    assert third.reason == "until 2026-03-28T03:10:00Z by the clock"
    assert world.finished() == []

    states = [one.state for one in judge(world.new_finisher(assume_idle=True))]
    assert (states, world.finished()) == ([State.NOW, State.NOW, State.OPEN], [hour(0), hour(1)])
    assert [one.state for one in judge(world.finisher)] == [State.OPEN]


def test_by_hand_late_records_are_taken_in_as_by_members() -> None:
    """Also one that makes a folder; `until` is for these, too, and nothing is left of the notes."""
    world = World()
    world.store_new(0, 0.5, 1.5, 3.5)
    hours_later(world, 4)
    assert world.finished() == [hour(0), hour(1)]
    for late in (0.7, 1.7, 2.7):
        world.store_new(0, late)
    (first, *others) = judge(world.finisher, world.arrivals_of(), until=MIDNIGHT_MS + HOUR_MS)
    assert (first.folder.path, first.state, first.reason, others) == (hour(0), State.NOW, SOMETHING_CAME, [])
    assert [world.content(hour(it))["number"] for it in (0, 1)] == [2, 1]

    dry = judge(world.finisher, world.arrivals_of(), dry_run=True)
    told = [(one.folder.path, one.state, one.reason) for one in dry]
    assert told == [
        (hour(1), State.NOW, SOMETHING_CAME),
        (hour(2), State.NOW, ""),
        (hour(3), State.OPEN, dry[-1].reason),
    ]
    assert [world.content(hour(it))["number"] for it in (0, 1)] == [2, 1]
    found = judge(world.finisher, world.arrivals_of())
    assert [(one.folder.path, one.published and one.published.number) for one in found] == [
        (hour(1), 2),
        (hour(2), 1),
        (hour(3), None),
    ]
    assert world.arrivals() == 0
    written = len(world.store.written)
    assert [one.state for one in judge(world.finisher, world.arrivals_of())] == [State.OPEN]
    assert len(world.store.written) == written


def test_by_hand_no_folder_is_left_behind_when_a_record_comes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Partition 1 has no record yet when the first folder is judged, and one of two o'clock a moment later."""
    world = World(partitions=2)
    world.store_new(0, 0.5, 1.5, 3)
    world.at(3)
    waits = world.finisher.passing.waits

    def then_a_record_comes(positions: Positions, end: int) -> Mapping[int, str]:
        found = waits(positions, end)
        if not world.partitions[1].times:
            world.produce(1, 2.5)
        return found

    monkeypatch.setattr(world.finisher.passing, "waits", then_a_record_comes)
    judge(world.finisher)
    world.look()
    assert world.finished() == [hour(0), hour(1)]


def test_by_hand_for_a_span_that_is_finished() -> None:
    world = World()
    world.store_new(0, 0.5, 1.5, 3)
    hours_later(world, 3)
    world.store.delete(f"raw/{TOPIC}/{hour(0)}/_SUCCESS")
    start, end = MIDNIGHT_MS, MIDNIGHT_MS + HOUR_MS
    (only,) = judge(world.finisher, since=start, until=end)
    assert (only.state, only.published and only.published.number) == (State.FINISHED, 1)
    assert world.finished() == [hour(0), hour(1)], "it is put again"
