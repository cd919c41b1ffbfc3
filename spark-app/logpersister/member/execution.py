"""Executes promised ranges on Spark and takes in what became of them."""

import queue
import threading
import time
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import structlog

from logpersister.backoff import Backoff
from logpersister.manifest.spec import Spec
from logpersister.member.ports import Dependencies
from logpersister.pipeline.work import RangeOutcome, RangeWork, RevisionWork, TaskSpec, WorkError
from logpersister.plan.packing import Job, Work, pack
from logpersister.plan.partitions import PartitionStates
from logpersister.plan.sizes import Sizes
from logpersister.ranges import Range, TopicPartition

log = structlog.get_logger(__name__)

MOST_JOBS = 4
"""Spark jobs at once. More than one, so that a slow range holds back only its own job."""
MOST_RETRIES = 2
"""How many of them may be of partitions that failed last time: what stalls there must not hold back the others."""
LONGEST_BACKOFF_SECONDS = 60.0
_BACKOFF = Backoff(2.0, LONGEST_BACKOFF_SECONDS)


@dataclass(frozen=True, slots=True)
class Ended:
    """One range that ended, with the ownership under which it was started."""

    outcome: RangeOutcome
    token: int


@dataclass(frozen=True, slots=True)
class _Running:
    tokens: Mapping[Range, int]
    retry: bool


class Execution:
    """Ranges in, outcomes out; at most `MOST_JOBS` jobs at once."""

    def __init__(
        self,
        group_id: str,
        spec: Spec,
        states: PartitionStates,
        dependencies: Dependencies,
        sizes: Sizes,
        wake: threading.Event,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._group_id = group_id
        self._spec = spec
        self._states = states
        self._group = dependencies.group
        self._jobs = dependencies.jobs
        self._sizes = sizes
        self._wake = wake
        self._clock = clock
        self._ended: queue.SimpleQueue[tuple[_Running, Future[list[RangeOutcome]]]] = queue.SimpleQueue()
        self._in_flight: list[_Running] = []

    @property
    def jobs_in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def ranges_in_flight(self) -> int:
        return sum(len(running.tokens) for running in self._in_flight)

    def start(
        self, revisions: Mapping[str, Mapping[str, Any]], without: Container[TopicPartition] = frozenset()
    ) -> None:
        """Start as many jobs as may run, oldest promises first, `without` partitions that cannot be read now."""
        if self._free() <= 0:
            return
        runnable: dict[bool, list[Work]] = {False: [], True: []}
        for range_, _ in self._states.runnable(self._clock()):
            if range_.partition in without:
                continue
            estimate = self._sizes.estimate(range_.partition.topic, range_.offsets)
            runnable[self._states.is_stuck(range_.partition)].append(Work(range_, estimate))
        for retry, work in runnable.items():
            for job in pack(work, self._jobs.cores):
                if self._free(retry=retry) <= 0:
                    break
                self._submit(job, revisions, retry=retry)

    def _free(self, *, retry: bool = False) -> int:
        free = MOST_JOBS - len(self._in_flight)
        retries = sum(running.retry for running in self._in_flight)
        return min(free, MOST_RETRIES - retries) if retry else free

    def _submit(self, job: Job, revisions: Mapping[str, Mapping[str, Any]], *, retry: bool) -> None:
        partitions = {work.range.partition for task in job for work in task}
        tokens = {p: token for p in partitions if (token := self._states.token(p)) is not None}
        allowed = self._group.retain(tokens)
        tasks: list[TaskSpec] = []
        ranges: dict[Range, int] = {}
        for task in job:
            of_revision: dict[str, list[RangeWork]] = {}
            for work in task:
                if work.range.partition in allowed:
                    revision, spec = self._work(work)
                    of_revision.setdefault(revision, []).append(spec)
                    ranges[work.range] = tokens[work.range.partition]
            if of_revision:
                parts = (RevisionWork(name, revisions[name], tuple(specs)) for name, specs in of_revision.items())
                tasks.append(TaskSpec(self._group_id, tuple(parts)))
        if not tasks:
            return
        future = self._jobs.submit(tasks)  # first: if it raises, nothing is taken for running that never ends
        for range_ in ranges:
            self._states.started(range_)
        running = _Running(ranges, retry)
        self._in_flight.append(running)
        future.add_done_callback(lambda ended: self._note_end(running, ended))
        log.debug("job.started", tasks=len(tasks), ranges=len(ranges))

    def _work(self, work: Work) -> tuple[str, RangeWork]:
        """Return a range as its promise says, and the revision of that."""
        promise = self._states.promise_of(work.range)
        if promise is None:
            raise RuntimeError(f"{work.range} is executed without a promise")  # never: runnable ranges are promised
        intent, again = promise.intent, self._states.may_run_again(work.range.partition)
        return intent.revision, RangeWork(
            work.range,
            intent.topic_id,
            intent.generation,
            work.estimated_bytes,
            promise.read_from(work.range),
            again,
            self._spec.hold_above(work.range.partition.topic),
            intent.horizon,
        )

    def _note_end(self, running: _Running, future: "Future[list[RangeOutcome]]") -> None:
        self._ended.put((running, future))
        self._wake.set()

    def take_ended(self) -> list[Ended]:
        """Return the ranges of the jobs that ended since the last call, and free their places."""
        ended: list[Ended] = []
        while not self._ended.empty():
            running, future = self._ended.get()
            self._in_flight.remove(running)
            outcomes = {outcome.range: outcome for outcome in _outcomes(running, future)}
            for range_, token in running.tokens.items():
                lost = WorkError("task", f"{range_}: Spark returned no outcome")
                ended.append(Ended(outcomes.get(range_, RangeOutcome(range_, error=lost)), token))
        return ended

    def backoff(self, failures: int) -> float:
        """Return when (by the clock) to try a partition again after so many failures in a row."""
        return self._clock() + _BACKOFF.pause(failures)


def _outcomes(running: _Running, future: "Future[list[RangeOutcome]]") -> Sequence[RangeOutcome]:
    error = future.exception() if not future.cancelled() else None
    if not future.cancelled() and error is None:
        return future.result()
    message = (
        f"the Spark job failed: {type(error).__name__}: {error}"[:2000] if error else "the Spark job was cancelled"
    )
    return [RangeOutcome(range_, error=WorkError("task", message)) for range_ in running.tokens]
