from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from logpersister.group.observation import FINEST, PRECISION, ROUNDS, Found, oldest_timestamps
from logpersister.ranges import TopicPartition
from tests.examples import examples

PARTITION = TopicPartition("clicks", 0)
NOW = 1_800_000_000_000
DAY = 86_400_000


class Log:
    """A partition with one record for each timestamp, answering as Kafka does."""

    def __init__(self, timestamps: list[int], first_offset: int = 0) -> None:
        self.timestamps = timestamps
        self.first_offset = first_offset
        self.asked = 0

    def ask(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, Found | None]:
        self.asked += 1
        return {partition: self.first_since(time) for partition, time in times.items()}

    def first_since(self, time: int) -> Found | None:
        for index, timestamp in enumerate(self.timestamps):
            if timestamp >= time:
                return self.first_offset + index, timestamp
        return None


def search(log: Log, position: int) -> int | None:
    return oldest_timestamps({PARTITION: position}, NOW, log.ask).get(PARTITION)


def test_behind_a_position_that_kafka_deleted_the_first_record_counts() -> None:
    assert search(Log([NOW - 1000], first_offset=70), 5) == NOW - 1000


def test_records_without_timestamps_have_no_age() -> None:
    assert search(Log([-1, -1, -1]), 1) is None


def test_records_of_the_future_are_told_as_they_are() -> None:
    assert search(Log([NOW - 10, NOW + DAY]), 0) == NOW - 10
    assert search(Log([NOW + DAY, NOW + DAY]), 1) == NOW + DAY


def test_a_partition_that_cannot_be_asked_any_more_is_left_out() -> None:
    log = Log([NOW - DAY, NOW - 5])

    def ask(times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Found | None]:
        return log.ask(times) if log.asked == 0 else {}

    assert oldest_timestamps({PARTITION: 1}, NOW, ask) == {}


def test_partitions_are_searched_together() -> None:
    log = Log([NOW - DAY + second * 1000 for second in range(0, 86_400, 60)])
    positions = {TopicPartition("clicks", number): number for number in range(0, 1440, 90)}
    assert oldest_timestamps(positions, NOW, log.ask).keys() == positions.keys()
    assert log.asked <= ROUNDS + 1


@examples(150)
@given(st.lists(st.integers(0, 400 * DAY), min_size=1, max_size=60), st.data())
def test_the_answer_is_as_precise_as_promised(ages: list[int], data: st.DataObject) -> None:
    timestamps = sorted(NOW - age for age in ages)
    position = data.draw(st.integers(0, len(timestamps) - 1))
    found = search(Log(timestamps), position)
    assert found is not None
    true = timestamps[position]
    assert abs(true - found) <= max(FINEST, PRECISION * (NOW - found)) or found in timestamps
