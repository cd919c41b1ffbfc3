import pickle
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.job import SparkJobs
from logpersister.pipeline.work import RangeOutcome, RevisionWork, TaskSpec, WorkError
from logpersister.ranges import Range, TopicPartition
from logpersister.report.facts import WrittenObject
from tests.unit.pipeline.fakes import work

text = st.text(max_size=20)
counts = st.integers(0, 2**62)
partitions = st.builds(TopicPartition, text, st.integers(0, 9999))
ranges = st.tuples(partitions, counts, st.integers(1, 2**40)).map(lambda it: Range(it[0], it[1], it[1] + it[2]))
outcomes = st.builds(
    RangeOutcome,
    ranges,
    st.lists(st.builds(WrittenObject, text, counts, counts), max_size=3).map(tuple),
    counts,
    st.floats(0, 1e6),
    st.dictionaries(text, counts, max_size=2),
    st.none() | st.builds(WorkError, text, text, st.booleans(), st.none() | counts),
)


@given(outcomes)
def test_an_outcome_comes_back_from_spark_as_it_was(outcome: RangeOutcome) -> None:
    assert pickle.loads(pickle.dumps(outcome)) == outcome


def test_tasks_go_to_spark_as_they_are() -> None:
    spec = TaskSpec("backup", (RevisionWork("0123456789ab", {"spec": {}}, (work(0, 10, read_from=4), work(10, 20))),))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert [item.partly_lost for item in spec.work] == [True, False]


def test_an_outcome_sums_up_its_objects() -> None:
    outcome = RangeOutcome(work().range, (WrittenObject("a", 100, 3), WrittenObject("b", 50, 2)))
    assert (outcome.bytes, outcome.records) == (150, 5)


class GoneContext:
    """Spark whose JVM was killed."""

    def cancelAllJobs(self) -> None:  # noqa: N802 - pyspark's name
        raise ConnectionRefusedError

    def stop(self) -> None:
        raise ConnectionRefusedError


def test_a_member_whose_jvm_is_gone_can_end_in_order() -> None:
    jobs = SparkJobs(cast("Any", GoneContext()), 1)
    jobs.cancel()
    jobs.close()
