"""The jobs that Spark has now, and when each of them went forward last."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from logpersister.pipeline.work import TaskSpec
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
