import pickle
from typing import Any, cast

from logpersister.pipeline.job import SparkJobs
from logpersister.pipeline.work import RangeOutcome, RevisionWork, TaskSpec, WorkError
from logpersister.report.facts import WrittenObject
from tests.unit.pipeline.fakes import work


def test_tasks_go_to_spark_as_they_are() -> None:
    spec = TaskSpec("backup", (RevisionWork("0123456789ab", {"spec": {}}, (work(0, 10, read_from=4), work(10, 20))),))
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert [item.partly_lost for item in spec.work] == [True, False]


def test_an_outcome_sums_up_its_objects() -> None:
    error = WorkError("corrupt", "text", log_start=5)
    outcome = RangeOutcome(work().range, (WrittenObject("a", 100, 3), WrittenObject("b", 50, 2)), error=error)
    assert pickle.loads(pickle.dumps(outcome)) == outcome
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
