"""What is refused before anything is produced, and what it says."""

from dataclasses import replace

import pytest

from logpersister.backup.listing import TopicBackup
from logpersister.backup.ranges import BackupObject, Explained, partition_backups
from logpersister.ranges import Range, TopicPartition
from logpersister.restore.plan import RestoreError, TargetTopic, lost, plan

PARTITION = TopicPartition("clicks", 1)


def backup(*spans: tuple[int, int], partitions: int = 2, notes: tuple[Explained, ...] = ()) -> TopicBackup:
    objects = [
        BackupObject(f"{start}", Range(PARTITION, start, end), 1, end - start, start, end - 1) for start, end in spans
    ]
    return TopicBackup("id", partitions, partition_backups(objects, notes))


def flawed() -> TopicBackup:
    """A backup with an object that cannot tell its records."""
    one = BackupObject("0", Range(PARTITION, 0, 5), 1, 5, 0, 4, flaw="2 of its records have null values")
    return replace(backup(), partitions=partition_backups([one]))


def target(
    partitions: int = 2, *, kind: str | None = "CreateTime", start: int = 0, end: int = 0, retention: str | None = None
) -> TargetTopic:
    spans = {TopicPartition("again", number): (start, end) for number in range(partitions)}
    return TargetTopic(partitions, kind, spans, retention)


def test_each_partition_has_a_plan() -> None:
    empty, full = plan("clicks", backup((5, 10), (10, 20)), "again", target(end=3))
    assert (empty.source, empty.target, empty.pieces, empty.stored) == (
        TopicPartition("clicks", 0),
        TopicPartition("again", 0),
        (),
        3,
    )
    assert [piece.object.key for piece in full.pieces] == ["5", "10"]
    assert full.counted == 15
    assert [one.stored for one in plan("clicks", backup((5, 10)), "again", None)] == [0, 0]


@pytest.mark.parametrize(
    ("found", "there", "told"),
    [
        (backup(), None, "clicks: the backup has no object of it"),
        (backup((0, 5), (9, 12), (13, 14)), None, r"clicks-1\[5,9\).*\nclicks-1\[12,13\)"),
        (flawed(), None, r"clicks-1\[0,5\): object '0' does not have its records: 2 of its records have null values"),
        (backup((0, 5)), target(3), "again of the target has 3 partitions, the backup has 2"),
        (backup((0, 5)), target(kind="LogAppendTime"), "message.timestamp.type=LogAppendTime"),
        (
            backup((0, 5)),
            target(retention="retention.ms=5"),
            "again of the target has retention.ms=5: Kafka would delete",
        ),
        (
            backup((0, 5)),
            target(end=4, retention="retention.ms=5"),
            "again of the target has retention.ms=5: Kafka would delete",
        ),
        (
            backup((0, 9)),
            target(start=4, end=9),
            "again-0 of the target begins at offset 4: Kafka has deleted.*not produce them again. Make the topic anew",
        ),
    ],
)
def test_what_cannot_be_restored(found: TopicBackup, there: TargetTopic | None, told: str) -> None:
    with pytest.raises(RestoreError, match=told):
        plan("clicks", found, "again", there)


def test_a_user_who_may_not_see_settings_goes_on() -> None:
    assert len(plan("clicks", backup((0, 5)), "again", target(kind=None))) == 2


def test_a_topic_that_has_its_records_may_get_its_retention() -> None:
    assert len(plan("clicks", backup((0, 5)), "again", target(end=5, retention="retention.ms=5"))) == 2


def test_what_was_lost_before_is_told_and_does_not_end_it() -> None:
    found = backup((0, 5), (9, 12), notes=(Explained(Range(PARTITION, 5, 9), 1, is_lost=True),))
    assert len(plan("clicks", found, "again", None)) == 2
    assert lost([found]) == [Range(PARTITION, 5, 9)]
