import threading

import pytest

from logpersister.member.execution import MOST_JOBS, MOST_RETRIES, Execution
from logpersister.pipeline.work import WorkError
from logpersister.plan.events import Resolved
from logpersister.plan.intents import Intent, promised
from logpersister.plan.partitions import PartitionStates
from logpersister.plan.sizes import Sizes
from logpersister.ranges import Range, TopicPartition
from tests.unit.manifest.documents import accepted
from tests.unit.member.fakes import TOPIC_ID, FakeDependencies

REVISIONS = {"rev-1": {"spec": 1}, "rev-2": {"spec": 2}}
LARGE = 32 << 20
SPEC = accepted({"spec.value": {"json": {}}, "spec.quarantine": {"holdAbove": "20%"}}).spec


def partition(index: int) -> TopicPartition:
    return TopicPartition("clicks", index)


def execution_of(
    fakes: FakeDependencies, ranges: int, *, revisions: tuple[str, ...] = ("rev-1",), size: int = LARGE
) -> Execution:
    """One promised range of a partition each, of one size; their revisions take turns."""
    states, sizes = PartitionStates(1), Sizes()
    sizes.learn("clicks", offsets=10, stored_bytes=size, half_life_bytes=1 << 40)
    fakes.group.tokens = {partition(index): index + 1 for index in range(ranges)}
    states.own(fakes.group.tokens)
    for index in range(ranges):
        value = promised(Intent(partition(index), TOPIC_ID, 0, (10,), revisions[index % len(revisions)], 1))
        states.step(partition(index), Resolved(value, value, TOPIC_ID))
    return Execution("backup", SPEC, states, fakes.ports(), sizes, threading.Event(), clock=fakes.clock)


def test_only_so_many_jobs_run_at_once_and_the_next_ones_follow(fakes: FakeDependencies) -> None:
    execution = execution_of(fakes, 12)
    execution.start(REVISIONS)
    assert execution.jobs_in_flight == MOST_JOBS
    assert execution.ranges_in_flight == MOST_JOBS * fakes.jobs.cores
    execution.start(REVISIONS)
    assert execution.jobs_in_flight == MOST_JOBS
    fakes.jobs.end(0)
    assert len(execution.take_ended()) == 2
    execution.start(REVISIONS)
    assert execution.jobs_in_flight == MOST_JOBS
    assert len({it for job in range(5) for it in fakes.jobs.ranges(job)}) == 10, "each range once"


def test_small_ranges_share_a_task_of_whatever_revision(fakes: FakeDependencies) -> None:
    execution = execution_of(fakes, 20, revisions=("rev-1", "rev-2"), size=100)
    execution.start(REVISIONS)
    [(tasks, _)] = fakes.jobs.submitted
    [task] = tasks
    assert [(part.revision, part.document, len(part.work)) for part in task.parts] == [
        ("rev-1", {"spec": 1}, 10),
        ("rev-2", {"spec": 2}, 10),
    ]
    assert [work.range.partition.partition % 2 for work in task.work] == [0] * 10 + [1] * 10
    assert all(work.again and work.topic_id == TOPIC_ID for work in task.work)
    assert {work.hold_above for work in task.work} == {20}, "whatever its revision says"


def test_partitions_that_are_being_revoked_are_left_out(fakes: FakeDependencies) -> None:
    execution = execution_of(fakes, 2)
    fakes.group.revoking = {partition(0)}
    execution.start(REVISIONS)
    assert fakes.jobs.ranges() == [Range(partition(1), 0, 10)]
    fakes.group.revoking = {partition(0), partition(1)}
    execution.start(REVISIONS)
    assert execution.jobs_in_flight == 1


def test_what_failed_runs_apart_and_leaves_places_for_the_others(fakes: FakeDependencies) -> None:
    execution = execution_of(fakes, 20)
    states = execution._states
    for index in range(0, 20, 2):
        states.started(Range(partition(index), 0, 10))
        states.failed(Range(partition(index), 0, 10), index + 1, lambda _: 0.0)
    execution.start(REVISIONS)
    jobs = [{it.partition.partition % 2 for it in fakes.jobs.ranges(job)} for job in range(MOST_JOBS)]
    assert jobs == [{1}] * MOST_JOBS, "the others first"
    for job in range(MOST_JOBS):
        fakes.jobs.end(job)
    for ended in execution.take_ended():
        states.succeeded(ended.outcome.range, ended.token)
    execution.start(REVISIONS)
    retries = [it for tasks, _ in fakes.jobs.submitted[MOST_JOBS:] for it in tasks]
    assert execution.jobs_in_flight == 1 + MOST_RETRIES
    assert len(retries) == 2 + MOST_RETRIES * fakes.jobs.cores


def test_a_job_that_spark_refuses_keeps_no_place_and_no_range(fakes: FakeDependencies) -> None:
    execution = execution_of(fakes, 1)
    fakes.jobs.error = RuntimeError("can't start new thread")
    with pytest.raises(RuntimeError):
        execution.start(REVISIONS)
    assert execution.jobs_in_flight == 0
    fakes.jobs.error = None
    execution.start(REVISIONS)
    assert fakes.jobs.ranges() == [Range(partition(0), 0, 10)]


@pytest.mark.parametrize("how", ["failed", "cancelled", "silent"])
def test_a_job_that_is_lost_is_an_error_for_each_of_its_ranges(fakes: FakeDependencies, how: str) -> None:
    execution = execution_of(fakes, 2)
    execution.start(REVISIONS)
    future = fakes.jobs.submitted[0][1]
    if how == "failed":
        future.set_exception(RuntimeError("executor lost"))
    elif how == "cancelled":
        future.cancel()
        future.set_running_or_notify_cancel()
    else:
        future.set_result([])
    assert execution._wake.is_set()
    ended = execution.take_ended()
    assert {(it.outcome.range, it.token) for it in ended} == {
        (Range(partition(index), 0, 10), index + 1) for index in (0, 1)
    }
    assert all(isinstance(it.outcome.error, WorkError) and it.outcome.error.kind == "task" for it in ended)
    assert execution.jobs_in_flight == 0
