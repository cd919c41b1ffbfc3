"""Whatever fails, dies, or comes late between any two steps: each record is there once, in order.

Where Kafka deletes what is restored, that is told. All courses with up to two faults are played, in a soak with three.
Mutants of what prevents duplicates and losses are caught by some of them.
"""

from collections.abc import Callable, Sequence
from itertools import count

import pytest
from kafka.errors import KafkaError

from logpersister.restore import execution
from logpersister.restore import plan as planning
from logpersister.restore.execution import restore
from logpersister.restore.plan import CREATE_TIME, PartitionPlan, RestoreError, TargetTopic, plan
from logpersister.restore.record_batches import Batch, Producer, placed
from tests.unit.restore.samples import SOURCE, TARGET, Backup, batch
from tests.unit.restore.world import Died, Loss, World, all_deleted, compacted, most_deleted, scripts

BACKUP = Backup(
    (0, 5, [batch(0, b"a", b"b"), batch(2, b"c"), batch(3, b"d", b"e", None)]),
    (5, 9, [batch(3, b"d", b"e", None), batch(8, b"f")]),
)
EXPECTED = [b"a", b"b", b"c", b"d", b"e", None, b"f"]
PRODUCER = Producer(7, 0)

Produces = Callable[[], Producer]


def run(world: World, produces: Produces = lambda: PRODUCER) -> None:
    """Run processes until one comes to its end."""
    while True:
        log = world.log(TARGET)
        target = TargetTopic(1, CREATE_TIME, {TARGET: (log.start, len(log.rows))})
        try:
            restore(
                plan(SOURCE.topic, BACKUP.topic(), TARGET.topic, target),
                world,
                {TARGET.topic: produces()},
                BACKUP.read,
                lambda _partition, _position: None,
                clock=lambda: 0.0,
                sleep=lambda _: None,
            )
        except (Died, KafkaError):
            continue
        return


def values(world: World) -> list[bytes | None]:
    return [value for _, (_, value) in world.log(TARGET).rows]


def play(faults: int, produces: Produces = lambda: PRODUCER, *, with_another: bool = False) -> int:
    """Play all courses; return how many. Raises AssertionError in the first that breaks the promise."""
    played = 0

    def ways_of(script: Sequence[int]) -> Sequence[int]:
        nonlocal played
        played += 1
        world = World(script, others=(lambda one: run(one, produces)) if with_another else None)
        run(world, produces)
        assert values(world) == EXPECTED, script
        world.arrive_late()
        assert values(world) == EXPECTED, script
        return world.ways

    for _ in scripts(faults, ways_of):
        pass
    return played


def play_losing(faults: int, loss: Loss) -> int:
    """Play all courses in which Kafka does something to the log; return in how many the restore came to its end."""
    ended = 0

    def ways_of(script: Sequence[int]) -> Sequence[int]:
        nonlocal ended
        world = World(script, loss=loss)
        log = world.log(TARGET)
        told = ""
        try:
            run(world)
        except RestoreError as error:
            told = str(error)
        if told:
            assert f"begins at offset {log.start}: Kafka has deleted the records before it" in told, script
        else:
            assert (log.start, values(world)) == (0, EXPECTED), script
            ended += 1
        world.arrive_late()
        assert values(world) == EXPECTED[: len(log.rows)], script
        return world.ways

    for _ in scripts(faults, ways_of):
        pass
    return ended


@pytest.fixture(autouse=True)
def _two_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "IN_FLIGHT", 2)


def test_the_backup_is_as_expected() -> None:
    assert BACKUP.rows == EXPECTED


@pytest.mark.parametrize(("faults", "courses"), [(2, 300), pytest.param(3, 2_000, marks=pytest.mark.soak)])
def test_each_record_once(faults: int, courses: int) -> None:
    assert play(faults) > courses


@pytest.mark.slow
def test_two_restores_at_once_do_no_harm() -> None:
    assert play(2, with_another=True) > 500


@pytest.mark.parametrize(
    ("loss", "faults"),
    [(all_deleted, 2), (most_deleted, 2), pytest.param(most_deleted, 3, marks=pytest.mark.soak)],
)
def test_records_that_kafka_deletes_meanwhile_are_told_and_not_produced_again(loss: Loss, faults: int) -> None:
    assert play_losing(faults, loss) > 100


def test_compaction_of_the_target_changes_nothing() -> None:
    assert play_losing(2, compacted) > 200


def test_a_producer_of_each_process_makes_duplicates() -> None:
    """As kafka-python's does: what a killed process has sent may arrive behind what its successor sends."""
    ids = count(1)
    with pytest.raises((AssertionError, RestoreError)):
        play(3, lambda: Producer(next(ids), 0))


def test_two_batches_of_an_unknown_producer_are_out_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution._PartitionRestore, "take", _two_at_once)
    with pytest.raises((AssertionError, RestoreError)):
        play(2)


def _two_at_once(
    self: execution._PartitionRestore,
    take: Callable[[execution._PartitionRestore], None] = execution._PartitionRestore.take,
) -> None:
    self._in_flight = 2
    take(self)


def _without_place(batch: Batch, _: Producer, __: int) -> bytes:
    return placed(batch, Producer(-1, -1), -1)


def _always_confident(self: object, error: Exception) -> None:
    """Take an unknown outcome for a loss, and send the same again from where it was."""


def test_a_producer_without_an_id_makes_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "placed", _without_place)
    with pytest.raises((AssertionError, RestoreError)):
        play(2)


def test_going_on_without_asking_loses_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution._PartitionRestore, "_fail", _always_confident)
    with pytest.raises((AssertionError, RestoreError)):
        play(1)


def _nothing(*_: object) -> None:
    """Find nothing."""


def test_an_end_without_a_last_look_hides_what_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_check_all_kept", _nothing)
    with pytest.raises(AssertionError):
        play_losing(1, all_deleted)


def test_going_on_at_the_end_alone_hides_what_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (execution, planning):
        monkeypatch.setattr(module, "deleted", _nothing)
    with pytest.raises(AssertionError):
        play_losing(1, most_deleted)


def _first_record(
    plan: PartitionPlan,
    stored: int,
    target: execution.Target,
    read: execution.ReadObject,
    check: Callable[..., None] = execution.check_stored,
) -> None:
    check(plan, min(stored, 1), target, read)


def test_a_look_at_the_first_record_does_not_know_what_compaction_removes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "check_stored", _first_record)
    with pytest.raises(AssertionError):
        play_losing(2, compacted)
