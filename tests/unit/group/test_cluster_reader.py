"""What a batch says of the cluster is forgotten with it."""

from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace

import pytest
from kafka.errors import UnknownTopicOrPartitionError

from logpersister.group import offsets
from logpersister.group.cluster_reader import ClusterReader
from logpersister.group.offsets import Found
from logpersister.ranges import TopicPartition

HERE, GONE = TopicPartition("clicks", 0), TopicPartition("deleted", 0)


class Reader(ClusterReader):
    """Answers for partitions by itself."""

    def _look(self, partitions: Iterable[TopicPartition]) -> None: ...

    def _ask_leaders(
        self, specs: Mapping[TopicPartition, int], *, read_committed: bool
    ) -> Iterator[tuple[TopicPartition, Found | Exception]]:
        for partition in specs:
            yield partition, UnknownTopicOrPartitionError() if partition == GONE else (7, -1)


def test_a_cluster_is_impaired_as_long_as_a_partition_without_leader_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else one deleted topic would impair it for ever."""
    monkeypatch.setattr(offsets, "admin_client", lambda _: SimpleNamespace())
    monkeypatch.setattr(offsets, "LEADER_PAUSES", ())
    reader = Reader({})
    for asked, is_impaired in (([HERE], False), ([HERE, GONE], True), ([HERE, GONE], True), ([HERE], False)):
        reader.begin_batch()
        assert reader.ends_of(asked, read_committed=False).values == {HERE: 7}
        assert reader.is_impaired == is_impaired
