from hypothesis import given
from hypothesis import strategies as st

from logpersister.ranges import TopicPartition
from logpersister.report.lag import WORST, PartitionLag, summarise
from tests.examples import examples
from tests.unit.report.samples import NOON, partition


def lag(topic: str = "clicks", number: int = 0, behind: int = 0, age: float | None = 0.0) -> PartitionLag:
    return PartitionLag(partition(topic, number), position=100, end=100 + behind, age_seconds=age)


def test_a_topic_is_summed_and_its_worst_partition_stands_out() -> None:
    summary = summarise([lag(number=0, behind=5, age=10.0), lag(number=1, behind=7, age=3.0), lag(number=2)], NOON)

    topic = summary.topics["clicks"]
    assert (topic.partitions, topic.behind, topic.records, topic.records_max, topic.seconds) == (3, 2, 12, 7, 10.0)
    assert (summary.partitions, summary.behind, summary.records, summary.seconds) == (3, 2, 12, 10.0)


def test_worst_are_the_oldest_then_the_largest() -> None:
    summary = summarise(
        [lag(number=0, behind=99, age=1.0), lag(number=1, behind=1, age=60.0), lag(number=2, behind=5, age=60.0)], NOON
    )

    assert [one.partition.partition for one in summary.worst] == [2, 1, 0]


def test_an_unknown_age_is_not_zero() -> None:
    behind_unknown = lag(number=0, behind=3, age=None)
    current = lag(number=1)

    assert summarise([behind_unknown], NOON).topics["clicks"].seconds is None
    assert summarise([behind_unknown, current], NOON).topics["clicks"].seconds is None
    assert summarise([current, behind_unknown], NOON).topics["clicks"].seconds is None
    assert summarise([behind_unknown, lag(number=2, behind=1, age=4.0)], NOON).topics["clicks"].seconds == 4.0


LAGS = st.lists(
    st.builds(
        PartitionLag,
        st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 9)),
        st.integers(0, 50),
        st.integers(0, 50),
        st.none() | st.floats(0, 100),
    ),
    max_size=30,
    unique_by=lambda lag: lag.partition,
)


@examples(100)
@given(LAGS)
def test_a_summary_is_bounded_and_independent_of_order(lags: list[PartitionLag]) -> None:
    summary = summarise(lags, NOON)

    assert len(summary.worst) <= WORST
    assert summary.records == sum(one.records for one in lags)
    assert summary.topics == summarise(reversed(lags), NOON).topics
    if summary.worst:
        assert (summary.worst[0].age_seconds or 0.0) == max(one.age_seconds or 0.0 for one in lags if one.records)
