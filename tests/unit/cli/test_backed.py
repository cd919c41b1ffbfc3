"""A log that reaches back as far as a backup does, without a hole."""

from collections.abc import Iterable
from typing import cast

import pytest

from logpersister.backup.listing import TopicBackup
from logpersister.backup.ranges import BackupObject, partition_backups
from logpersister.cli.backed import BackedOffsets, Backup
from logpersister.group.answers import Answer, TopicDescription
from logpersister.group.offsets import OffsetReader
from logpersister.manifest import LogPersister
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.store import ObjectStore

P = TopicPartition("t", 0)


class FakeKafka:
    """A topic whose log begins at offset 30."""

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        return {topic: TopicDescription("id", {0: 1}) for topic in topics}

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer(dict.fromkeys(partitions, 30), {TopicPartition("t", 1): TimeoutError()})


@pytest.mark.parametrize(
    ("spans", "topic_id", "begins"),
    [
        ([(10, 40)], "id", 10),
        ([(0, 10), (20, 40)], "id", 20),
        ([(0, 25)], "id", 30),
        ([(35, 40)], "id", 30),
        ([(10, 40)], "another", 30),
        ([], None, 30),
    ],
)
def test_a_log_begins_where_the_backup_has_no_hole_behind(
    spans: list[tuple[int, int]], topic_id: str | None, begins: int
) -> None:
    objects = [BackupObject(f"{a}", Range(P, a, b), 1, b - a, a, b - 1) for a, b in spans]
    found = TopicBackup(topic_id, 1, partition_backups(objects)) if objects else None
    backup = Backup(cast("LogPersister", None), cast("ObjectStore", None), {"t": found})
    offsets = BackedOffsets(cast("OffsetReader", FakeKafka()), backup)
    offsets.describe(["t"])
    answer = offsets.log_starts([P])
    assert (answer.values, list(answer.errors)) == ({P: begins}, [TopicPartition("t", 1)])
