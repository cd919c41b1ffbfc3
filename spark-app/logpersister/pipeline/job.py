"""Runs tasks on Spark: one job is one list of tasks, its outcome one row for each range."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from logpersister.pipeline.work import ObjectWritten, RangeOutcome, TaskSpec, WorkError
from logpersister.ranges import Range, TopicPartition

OUTCOME_SCHEMA = "outcome string"
"""Outcomes travel as JSON: a few rows a task, and no second schema to keep in step with `RangeOutcome`."""

JobResult = list[RangeOutcome]


class JobRunner(Protocol):
    """What a member needs of Spark."""

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[JobResult]":
        """Run the tasks of one job; the future fails only when Spark itself does."""

    @property
    def cores(self) -> int: ...


class SparkJobs:
    """Submits jobs from threads of its own, so that several run at once (FAIR)."""

    def __init__(self, session: SparkSession, most_jobs: int) -> None:
        self._session = session
        self._threads = ThreadPoolExecutor(most_jobs, thread_name_prefix="job")
        self._numbers = iter(range(1, 1 << 62))
        self._lock = threading.Lock()

    @property
    def cores(self) -> int:
        """How many tasks run at once, by what Spark has now."""
        return max(1, self._session.sparkContext.defaultParallelism)

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[JobResult]":
        return self._threads.submit(self._run, list(tasks))

    def answers(self) -> bool:
        """Whether Spark is there: asks the JVM, which raises or blocks when it is not."""
        return not self._session.sparkContext._jsc.sc().isStopped()  # noqa: SLF001 - pyspark has no public one

    def cancel(self) -> None:
        """Stop what runs: it stays promised and will be executed again."""
        self._session.sparkContext.cancelAllJobs()

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._session.stop()

    def _run(self, tasks: list[TaskSpec]) -> JobResult:
        with self._lock:
            number = next(self._numbers)
        context = self._session.sparkContext
        context.setLocalProperty("spark.scheduler.pool", f"job-{number % 64}")
        context.setJobDescription(f"{sum(len(task.work) for task in tasks)} ranges in {len(tasks)} tasks")
        frame = self._session.range(0, len(tasks), numPartitions=len(tasks))
        rows = frame.mapInArrow(_task_function(tasks), OUTCOME_SCHEMA).collect()
        return [parse_outcome(row.outcome) for row in rows]


def _task_function(tasks: list[TaskSpec]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run_tasks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from logpersister.pipeline.equipment import run  # noqa: PLC0415 - on the worker, where connections live

        for batch in batches:
            for index in batch.column(0).to_numpy():
                for outcome in run(tasks[int(index)]):
                    yield pa.RecordBatch.from_pydict({"outcome": [format_outcome(outcome)]})

    return run_tasks


def format_outcome(outcome: RangeOutcome) -> str:
    return json.dumps(asdict(outcome))


def parse_outcome(text: str) -> RangeOutcome:
    """Return what `format_outcome` was given."""
    document: dict[str, Any] = json.loads(text)
    return RangeOutcome(
        _range(document["range"]),
        tuple(ObjectWritten(**written) for written in document["objects"]),
        document["payload_bytes"],
        document["seconds"],
        document["retries"],
        WorkError(**document["error"]) if document["error"] else None,
    )


def _range(document: Mapping[str, Any]) -> Range:
    return Range(TopicPartition(**document["partition"]), document["start"], document["end"])
