"""Runs tasks on Spark: one job is one list of tasks, which gives one outcome for each range (docs/design/spark.md)."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import structlog
from pyspark import SparkContext

from logpersister.pipeline.task_resources import run
from logpersister.pipeline.work import RangeOutcome, TaskSpec
from logpersister.report.facts import RunningJob
from logpersister.report.status import utc_now


class RunningJobs:
    """Jobs by the name of their group, under which Spark knows them. Thread-safe."""

    def __init__(self, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._jobs: dict[str, RunningJob] = {}
        self._lock = threading.Lock()

    @contextmanager
    def running(self, group: str, tasks: Sequence[TaskSpec]) -> Iterator[None]:
        """Count a job as running for the time of the block."""
        now = self._clock()
        work = [item for task in tasks for item in task.work]
        job = RunningJob(
            started_at=now,
            progress_at=now,
            tasks=len(tasks),
            tasks_done=0,
            ranges=len(work),
            estimated_bytes=sum(item.estimated_bytes for item in work),
            partitions=tuple(sorted({item.range.partition for item in work})),
        )
        with self._lock:
            self._jobs[group] = job
        try:
            yield
        finally:
            with self._lock:
                del self._jobs[group]

    def observe(self, tasks_done: Callable[[str], int]) -> tuple[RunningJob, ...]:
        """Return the jobs that run, the oldest first.

        Args:
            tasks_done: asks Spark how many tasks of a group have ended; takes its time.
        """
        with self._lock:
            groups = list(self._jobs)
        counts = {group: tasks_done(group) for group in groups}
        with self._lock:
            for group, done in counts.items():
                job = self._jobs.get(group)
                if job is not None and done > job.tasks_done:
                    self._jobs[group] = replace(job, tasks_done=done, progress_at=self._clock())
            return tuple(sorted(self._jobs.values(), key=lambda job: job.started_at))


log = structlog.get_logger(__name__)

POOLS = 64
"""Jobs get their scheduler pools in turn: a fair share each. Spark never forgets a pool, so their number is bounded."""

JobResult = list[RangeOutcome]


class SparkJobs:
    """Submits jobs from threads of its own, so that several run at once (FAIR)."""

    def __init__(self, context: SparkContext, most_jobs: int) -> None:
        self._context = context
        self._threads = ThreadPoolExecutor(most_jobs, thread_name_prefix="job")
        self._numbers = iter(range(1, 1 << 62))
        self._lock = threading.Lock()
        self._running = RunningJobs()

    @property
    def cores(self) -> int:
        """Number of tasks that run at once, by what Spark has now."""
        return max(1, self._context.defaultParallelism)

    @property
    def executors(self) -> int | None:
        """Number of Spark's executors now; None when it runs inside this process."""
        context = self._context
        if (context.master or "").startswith("local"):
            return None
        return int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1  # noqa: SLF001 - the driver is in it, too

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[JobResult]":
        return self._threads.submit(self._run, list(tasks))

    def warm_up(self) -> "Future[int]":
        """Start what runs tasks, executors and Python workers, by a job that does nothing."""
        return self._threads.submit(self._context.parallelize(range(self.cores), numSlices=self.cores).count)

    def answers(self) -> bool:
        """Whether Spark is there: asks the JVM, which raises or blocks when it is not."""
        return not self._context._jsc.sc().isStopped()  # noqa: SLF001 - pyspark has no public one

    def running(self) -> tuple[RunningJob, ...]:
        """Return the jobs that run, with what Spark says of their tasks."""
        return self._running.observe(self._tasks_done)

    def cancel(self) -> None:
        """Stop what runs: it stays promised and will be executed again."""
        try:
            self._context.cancelAllJobs()
        except Exception as error:  # Spark's JVM is gone, and its jobs with it
            log.warning("spark.not_cancelled", error=repr(error))

    def close(self) -> None:
        """Stop Spark. One whose JVM is gone has stopped already: the member must end in order all the same."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        try:
            self._context.stop()
        except Exception as error:
            log.warning("spark.not_stopped", error=repr(error))

    def _run(self, tasks: list[TaskSpec]) -> JobResult:
        with self._lock:
            number = next(self._numbers)
        group = f"ranges-{number}"
        self._context.setLocalProperty("spark.scheduler.pool", f"job-{number % POOLS}")
        self._context.setJobGroup(group, f"{sum(len(task.work) for task in tasks)} ranges in {len(tasks)} tasks")
        with self._running.running(group, tasks):
            return self._context.parallelize(tasks, numSlices=len(tasks)).mapPartitions(_run_tasks).collect()

    def _tasks_done(self, group: str) -> int:
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        return sum(stage.numCompletedTasks for stage in stages if stage is not None)


def _run_tasks(tasks: Iterable[TaskSpec]) -> Iterator[RangeOutcome]:
    for task in tasks:
        yield from run(task)
