"""Duties: what the owner of partition 0 of a topic does for the whole topic, beside the cycle.

Each duty has a thread of its own, so that a catalog or bucket that is slow delays no commit and no other duty. A duty
reads how far the group is, and this read is *not fenced*: a coordinator that was replaced may answer, and this process
may have lost the partition meanwhile. So two processes may do the same duty at once, each with other committed offsets.
That is safe under two conditions that every duty has to keep:

1. **Repeats are harmless.** What it writes has names and content that others would write, too, or is a
   compare-and-set on what it has read. Who comes late changes nothing, or is refused.
2. **It only concludes "is stored" from an offset, never "is not stored".** Within a generation the committed offset of
   a partition only rises (`plan/protocol.py`). So a stale offset is an offset that was true earlier: at most the real
   one, and everything before it is stored, or recorded as lost or skipped, for good. Acting on it is acting late.

An offset is set back by users only, who replay in a higher generation. What was stored before remains stored, in
objects of the lower generation: the old offset is still a true statement about these. But it says nothing about
objects of the higher generation, so a duty that tells generations apart has to read that of the metadata, too. An
offset without metadata of ours was set by somebody else, and says nothing until a member has taken it up.
"""

import random
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from logpersister.backoff import Backoff
from logpersister.ranges import TopicPartition
from logpersister.report.duties import MAX_FAILING, DutyReport, FailingTopic

log = structlog.get_logger(__name__)

IDLE_SECONDS: Final = 5.0
"""How often is looked for topics that have come or gone, at most."""
STOP_SECONDS: Final = 10.0
"""How long a thread may take to end; a request that takes longer is left behind: it is harmless."""
LAST_SECONDS: Final = 600.0
"""The same before the last time, for which a member waits: a topic that has much to do takes minutes."""
_BACKOFF: Final = Backoff(5.0, 300.0)


class Duty(Protocol):
    """Work on whole topics; called by one thread. See the conditions of this module."""

    @property
    def name(self) -> str:
        """A short stable word, for logs, metrics and ``/status``."""

    def concerns(self, topic: str) -> bool:
        """Whether there is such work for a topic; asked often, so it must not do I/O."""

    def perform(self, topic: str, *, last: bool) -> float:
        """Do what can be done for a topic now; return the seconds until there may be more, 0 where there is.

        `last`: the member leaves, so what was read a moment ago is read again. Each request must have a deadline.
        Whatever is raised counts as a failure, and the topic is tried again later.
        """

    def forget(self, topic: str) -> None:
        """Drop what is remembered of a topic whose partition 0 has gone to another member."""


class DutyListener:
    """What is told of duties; from any thread."""

    def duty(self, report: DutyReport) -> None:
        """Where a duty stands now."""

    def performed(self, duty: str, seconds: float, *, failed: bool) -> None:
        """One attempt for one topic has ended."""


@dataclass(slots=True)
class _Topic:
    due: float
    """By the clock."""
    failures: int = 0
    message: str = ""
    failing_since: datetime | None = None


class DutyThread:
    """Performs one duty for the topics whose partition 0 is ours, one after the other, until it is closed."""

    def __init__(
        self,
        duty: Duty,
        owned: Callable[[], Collection[TopicPartition]],
        listener: DutyListener,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        jitter: Callable[[], float] = lambda: random.uniform(0.9, 1.1),
    ) -> None:
        """`owned` gives the partitions of this member now, from any thread; pauses are multiplied by `jitter`."""
        self._duty = duty
        self._owned = owned
        self._listener = listener
        self._clock = clock
        self._now = now
        self._jitter = jitter
        self._topics: dict[str, _Topic] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"duty-{duty.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def once_more(self) -> bool:
        """End the thread, then perform the duty for each topic, due or not; return whether all of them succeeded."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(LAST_SECONDS)
        if self._thread.is_alive():  # the duty is for one thread at a time
            return False
        self._update_topics()
        for topic, state in sorted(self._topics.items()):
            self._perform(topic, state, last=True)
            while not state.failures and state.due <= self._clock():
                self._perform(topic, state, last=True)
        self._listener.duty(self._report())
        return not any(state.failures for state in self._topics.values())

    def turn(self) -> float:
        """Perform the duty for each topic that is due; return the seconds until the next turn. Raises nothing."""
        self._update_topics()
        now = self._clock()
        for topic in sorted(self._topics, key=lambda topic: (self._topics[topic].due, topic)):
            if self._stopped.is_set() or self._topics[topic].due > now:
                break
            if TopicPartition(topic, 0) in self._owned():  # those before it may have taken long
                self._perform(topic, self._topics[topic])
        self._listener.duty(self._report())
        next_due = min((state.due for state in self._topics.values()), default=float("inf"))
        return min(IDLE_SECONDS, max(0.0, next_due - self._clock()))

    def _update_topics(self) -> None:
        ours = {p.topic for p in self._owned() if p.partition == 0 and self._duty.concerns(p.topic)}
        for topic in self._topics.keys() - ours:
            del self._topics[topic]
            self._duty.forget(topic)
        for topic in ours - self._topics.keys():
            self._topics[topic] = _Topic(self._clock())

    def _perform(self, topic: str, state: _Topic, *, last: bool = False) -> None:
        started = self._clock()
        try:
            pause = self._duty.perform(topic, last=last) * self._jitter()
        except Exception as error:
            state.failures += 1
            state.message = str(error) or type(error).__name__
            state.failing_since = state.failing_since or self._now()
            pause = _BACKOFF.pause(state.failures)
            self._log_failure(topic, state, pause)
        else:
            if state.failures:
                log.info("duty.works_again", duty=self._duty.name, topic=topic, failures=state.failures)
            state.failures, state.message, state.failing_since = 0, "", None
        state.due = self._clock() + pause
        self._listener.performed(self._duty.name, self._clock() - started, failed=state.failures > 0)

    def _log_failure(self, topic: str, state: _Topic, pause: float) -> None:
        log.warning(
            "duty.failed",
            duty=self._duty.name,
            topic=topic,
            failures=state.failures,
            error=state.message,
            retry_seconds=round(pause, 1),
        )

    def _report(self) -> DutyReport:
        failing = [
            FailingTopic(topic, state.failures, state.message, state.failing_since)
            for topic, state in self._topics.items()
            if state.failing_since is not None
        ]
        failing.sort(key=lambda one: (-one.failures, one.topic))
        return DutyReport(self._duty.name, len(self._topics), len(failing), tuple(failing[:MAX_FAILING]))

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._stopped.wait(self.turn())


@contextmanager
def performing(
    duties: Sequence[Duty], owned: Callable[[], Collection[TopicPartition]], listener: DutyListener
) -> Iterator[Callable[[], bool]]:
    """Perform duties, each in a thread of its own; without duties nothing runs.

    Yields what ends the threads and performs each duty a last time, for a member that leaves when all is stored; it
    returns whether that succeeded.
    """
    threads = [DutyThread(duty, owned, listener) for duty in duties]
    for thread in threads:
        thread.start()
    try:
        yield lambda: sum(not thread.once_more() for thread in threads) == 0
    finally:
        for thread in threads:
            thread.close()
