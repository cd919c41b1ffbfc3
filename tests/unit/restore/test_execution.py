"""What a restore reads and skips, and what ends it."""

from collections.abc import Generator, Mapping, Sequence

import pytest
from kafka import errors

from logpersister.backup.ranges import Piece
from logpersister.formats.damage import ContentError
from logpersister.ranges import TopicPartition
from logpersister.restore import execution
from logpersister.restore.execution import PATIENCE_SECONDS, Answer, restore
from logpersister.restore.offset_table import offset_map
from logpersister.restore.plan import PartitionPlan, RestoreError
from logpersister.restore.record_batches import Batch, Producer, placed
from tests.unit.formats import samples
from tests.unit.pipeline.test_backup_content import HOSTILE, JSONL, stored
from tests.unit.restore.samples import SOURCE, TARGET, Backup, batch
from tests.unit.restore.world import World

Sent = Mapping[TopicPartition, Sequence[bytes]]
Answers = Mapping[TopicPartition, Sequence[Answer]]


def backup() -> Backup:
    return Backup((0, 2, [batch(0, b"a", b"b")]), (2, 5, [batch(2, b"c", b"d", b"e")]), (5, 6, [batch(5, b"f")]))


def run(found: Backup, target: World, stored: int = 0) -> list[int]:
    """Restore; return the positions that were told. Each look at the clock takes a second."""
    told: list[int] = []
    seconds = iter(range(10**6))
    restore(
        [found.plan(stored)],
        target,
        {TARGET.topic: Producer(1, 0)},
        found.read,
        lambda _, position: told.append(position),
        clock=lambda: next(seconds),
        sleep=lambda _: None,
    )
    return told


def filled(values: Sequence[bytes]) -> World:
    world = World()
    world.log(TARGET).append(placed(Batch(batch(0, *values).encode(), len(values)), Producer(1, 0), 0))
    return world


def test_what_is_there_is_skipped_by_facts() -> None:
    found, world = backup(), filled([b"a", b"b", b"c", b"d", b"e"])
    assert run(found, world, 5)[-1] == 6
    assert [value for _, (_, value) in world.log(TARGET).rows] == found.rows
    assert found.plan().pieces[0].object.key not in found.read_keys


def test_all_is_there() -> None:
    found = backup()
    assert run(found, filled([b"a", b"b", b"c", b"d", b"e", b"f"]), 6) == []


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ([b"a", b"x"], "its last record, at offset 1, is not the one"),
        ([b"a", b"b", b"c", b"d", b"e", b"f", b"g"], "it has 7 records, more than the backup of clicks-0"),
    ],
)
def test_other_records_are_refused(there: Sequence[bytes], told: str) -> None:
    world = filled(there)
    with pytest.raises(RestoreError, match=told):
        run(backup(), world, len(there))
    assert len(world.log(TARGET).rows) == len(there)


class Refusing(World):
    """Brokers that answer with an error, or as if somebody else wrote, too."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer

    def append(self, batches: Sent) -> Answers:
        return {partition: [self._answer] * len(found) for partition, found in batches.items()}


@pytest.mark.parametrize(
    ("answer", "raised", "told"),
    [
        (
            errors.MessageSizeTooLargeError("too large"),
            RestoreError,
            "refuses records from offset 0 on.*too large.*set the topic's max.message.bytes",
        ),
        (errors.TopicAuthorizationFailedError(), RestoreError, "refuses records.*grant WRITE on the topic"),
        (17, RestoreError, "got offset 17 instead of 0: somebody else writes"),
        (errors.NotEnoughReplicasError(), TimeoutError, f"no progress for {PATIENCE_SECONDS:g} s.*NotEnoughReplicas"),
    ],
)
def test_errors_end_it(answer: Answer, raised: type[Exception], told: str) -> None:
    with pytest.raises(raised, match=told):
        run(backup(), Refusing(answer))


def test_deleted_records_are_told() -> None:
    class Forgetting(World):
        def append(
            self, batches: Mapping[TopicPartition, Sequence[bytes]]
        ) -> Mapping[TopicPartition, Sequence[Answer]]:
            if self.log(TARGET).rows:
                self.log(TARGET).rows.clear()
                return {partition: [errors.KafkaConnectionError()] * len(found) for partition, found in batches.items()}
            return super().append(batches)

    with pytest.raises(RestoreError, match="it had 2 records and has 0 now"):
        run(backup(), Forgetting())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda stored: stored[:-1], "the last 87 bytes"),
        (lambda stored: batch(2, b"c", b"d").encode(), "it has 2 records of its range, and its facts say 3"),
    ],
    ids=["cut", "lacking"],
)
def test_a_damaged_object_is_named(change: object, told: str) -> None:
    found = backup()
    assert callable(change)
    found.spoil(found.plan().pieces[1].object.key, change)
    with pytest.raises(ContentError, match=f"clicks/1_0_00000000000000000002.kafka: {told}"):
        run(found, World())


def test_large_batches_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counting(World):
        def __init__(self) -> None:
            super().__init__()
            self.sent: list[int] = []

        def append(
            self, batches: Mapping[TopicPartition, Sequence[bytes]]
        ) -> Mapping[TopicPartition, Sequence[Answer]]:
            self.sent.append(len(batches[TARGET]))
            return super().append(batches)

    few, many = Counting(), Counting()
    run(backup(), many)
    monkeypatch.setattr(execution, "IN_FLIGHT_BYTES", 1)
    run(backup(), few)
    assert (many.sent, few.sent) == ([1, 2], [1, 1, 1])
    assert few.log(TARGET).rows == many.log(TARGET).rows


@pytest.mark.parametrize("there", range(3))
def test_lines_become_records_and_are_gone_on_within(there: int) -> None:
    made, content = stored(JSONL[0], samples.with_headers(samples.batch(HOSTILE)))
    plan, world = PartitionPlan(SOURCE, TARGET, (Piece(made.range, made),), there), World()
    world.log(TARGET).rows = [(one.timestamp, (one.key, one.value)) for one in HOSTILE[:there]]

    def read(_: str) -> Generator[bytes, None, None]:
        yield content

    restore([plan], world, {TARGET.topic: Producer(1, 0)}, read, lambda _, __: None)
    assert world.log(TARGET).rows == [(one.timestamp, (one.key, one.value)) for one in HOSTILE]
    assert offset_map(plan, read).runs() == [(5, 0, 3)]
