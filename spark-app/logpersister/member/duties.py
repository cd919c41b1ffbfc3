"""Duties: work on a whole topic by the owner of its partition 0, beside the cycle.

Each duty has threads of its own, so that a catalog or bucket that is slow delays no commit and no other duty. One more
thread tells of attempts that do not end: those cannot do it themselves. A duty
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

from logpersister.backoff import Backoff, PartlyFailedError
from logpersister.member.listener import Listener
from logpersister.ranges import TopicPartition
from logpersister.report.duties import MAX_FAILING, DutyReport, FailingTopic

log = structlog.get_logger(__name__)

STUCK_SECONDS: Final = 300.0
"""An attempt that takes longer is told as one that hangs. What has more to do than that does it in several attempts."""
WATCH_SECONDS: Final = 10.0
"""How often is looked for such attempts."""
IDLE_SECONDS: Final = 5.0
"""How often is looked for topics that have come or gone, at most."""
STOP_SECONDS: Final = 10.0
"""How long a thread may take to end; a request that takes longer is left behind: it is harmless."""
LAST_SECONDS: Final = 600.0
"""Seconds for a thread to end before the last turn, for which a member waits: large topics take minutes."""
_BACKOFF: Final = Backoff(5.0, 300.0)


class Duty(Protocol):
    """Work on whole topics; called by one thread for each topic. See the conditions of this module."""

    @property
    def name(self) -> str:
        """A short stable word, for logs, metrics and ``/status``."""

    @property
    def at_once(self) -> int:
        """Most topics for which it may be called at once. More than one: it is thread-safe."""

    def concerns(self, topic: str) -> bool:
        """Whether there is such work for a topic; asked often, so it must not do I/O."""

    def perform(self, topic: str, *, last: bool) -> float:
        """Do what can be done for a topic now; return the seconds until there may be more, 0 where there is.

        `last`: the member leaves, so what was read a moment ago is read again. Each request must have a deadline.
        Whatever is raised counts as a failure, and the topic is tried again later; `PartlyFailedError` says when.
        """

    def forget(self, topic: str) -> None:
        """Drop what is remembered of a topic whose partition 0 has gone to another member."""


@dataclass(slots=True)
class _Topic:
    due: float
    """Time of the clock for the next attempt."""
    failures: int = 0
    message: str = ""
    failing_since: datetime | None = None
    begun: tuple[float, datetime] | None = None
    """When the attempt began that goes on, by the clock and for people."""
    hangs: bool = False
    """Whether it was told that this attempt hangs."""


class DutyThread:
    """Performs one duty for the topics whose partition 0 is ours, as many at once as it may, until it is closed."""

    def __init__(
        self,
        duty: Duty,
        owned: Callable[[], Collection[TopicPartition]],
        listener: Listener,
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
        self._lock = threading.Lock()
        self._topics: dict[str, _Topic] = {}
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, name=f"duty-{duty.name}", daemon=True) for _ in range(duty.at_once)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._end(STOP_SECONDS)

    def once_more(self) -> bool:
        """End the threads, then perform the duty for each topic, due or not; return whether all of them succeeded."""
        if not self._end(LAST_SECONDS):
            return False
        self._update_topics()
        for topic, state in sorted(self._topics.items()):
            self._perform(topic, state, last=True)
            while not state.failures and state.due <= self._clock():
                self._perform(topic, state, last=True)
        self.report()
        return not any(state.failures for state in self._topics.values())

    def turn(self) -> float:
        """Perform the duty for each topic that is due; return the seconds until the next turn. Raises nothing."""
        self._update_topics()
        now = self._clock()
        while (topic := self._next_due(now)) is not None:
            self._perform(topic, self._topics[topic])
        self.report()
        with self._lock:
            waiting = [state.due for state in self._topics.values() if state.begun is None]
        return min(IDLE_SECONDS, max(0.0, min(waiting, default=float("inf")) - self._clock()))

    def report(self) -> None:
        """Tell where the duty stands; from any thread."""
        with self._lock:
            failing = [one for topic, state in self._topics.items() if (one := self._failing(topic, state)) is not None]
            topics = len(self._topics)
        failing.sort(key=lambda one: (not one.hangs, -one.failures, one.topic))
        self._listener.duty(DutyReport(self._duty.name, topics, len(failing), tuple(failing[:MAX_FAILING])))

    def _end(self, seconds: float) -> bool:
        """Let the threads end within a time; return whether they have. The duty is for them alone until then."""
        self._stopped.set()
        until = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _update_topics(self) -> None:
        ours = {p.topic for p in self._owned() if p.partition == 0 and self._duty.concerns(p.topic)}
        with self._lock:
            gone = [topic for topic, state in self._topics.items() if topic not in ours and state.begun is None]
            for topic in gone:
                del self._topics[topic]
            for topic in ours - self._topics.keys():
                self._topics[topic] = _Topic(self._clock())
        for topic in gone:
            self._duty.forget(topic)

    def _next_due(self, now: float) -> str | None:
        """Begin an attempt for the topic that was due first at a time; return it."""
        with self._lock:
            due = sorted((state.due, topic) for topic, state in self._topics.items() if state.begun is None)
        for at, topic in due:
            if self._stopped.is_set() or at > now:
                return None
            if TopicPartition(topic, 0) in self._owned() and self._begin(topic):  # those before it may have taken long
                return topic
        return None

    def _begin(self, topic: str) -> bool:
        """Begin an attempt, unless another thread has."""
        with self._lock:
            state = self._topics.get(topic)
            if state is None or state.begun is not None:
                return False
            state.begun = self._clock(), self._now()
            return True

    def _perform(self, topic: str, state: _Topic, *, last: bool = False) -> None:
        started = self._clock()
        failure: Exception | None = None
        try:
            pause = self._duty.perform(topic, last=last) * self._jitter()
        except PartlyFailedError as error:
            failure, pause = error, error.seconds * self._jitter()
        except Exception as error:
            failure, pause = error, _BACKOFF.pause(state.failures + 1)
        with self._lock:
            self._take_in(topic, state, failure, pause)
        self._listener.performed(self._duty.name, topic, self._clock() - started, failure)

    def _take_in(self, topic: str, state: _Topic, failure: Exception | None, pause: float) -> None:
        if failure is not None:
            message, partly = str(failure) or type(failure).__name__, isinstance(failure, PartlyFailedError)
            is_news = not partly or message != state.message or (state.failures + 1).bit_count() == 1
            state.failures, state.message = state.failures + 1, message
            state.failing_since = state.failing_since or self._now()
            if is_news:  # what fails in part is tried as often as what works
                self._log_failure(topic, state, pause)
        else:
            if state.failures or state.hangs:
                log.info("duty.works_again", duty=self._duty.name, topic=topic, failures=state.failures)
            state.failures, state.message, state.failing_since = 0, "", None
        state.begun, state.hangs, state.due = None, False, self._clock() + pause

    def _log_failure(self, topic: str, state: _Topic, pause: float) -> None:
        log.warning(
            "duty.failed",
            duty=self._duty.name,
            topic=topic,
            failures=state.failures,
            error=state.message,
            retry_seconds=round(pause, 1),
        )

    def _failing(self, topic: str, state: _Topic) -> FailingTopic | None:
        if state.begun is not None and self._clock() - state.begun[0] >= STUCK_SECONDS:
            if not state.hangs:
                state.hangs = True
                log.warning("duty.hangs", duty=self._duty.name, topic=topic, seconds=round(STUCK_SECONDS))
            return FailingTopic(topic, state.failures, "its attempt does not end", state.begun[1], hangs=True)
        if state.failing_since is None:
            return None
        return FailingTopic(topic, state.failures, state.message, state.failing_since)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._stopped.wait(self.turn())


@contextmanager
def performing(
    duties: Sequence[Duty], owned: Callable[[], Collection[TopicPartition]], listener: Listener
) -> Iterator[Callable[[], bool]]:
    """Perform duties, each in threads of its own; without duties nothing runs.

    Yields what ends the threads and performs each duty a last time, for a member that leaves when all is stored; it
    returns whether that succeeded.
    """
    threads = [DutyThread(duty, owned, listener) for duty in duties]
    ended = threading.Event()
    for thread in threads:
        thread.start()
    if threads:
        threading.Thread(target=_watch, args=(threads, ended), name="duties-watch", daemon=True).start()
    try:
        yield lambda: sum(not thread.once_more() for thread in threads) == 0
    finally:
        ended.set()
        for thread in threads:
            thread.close()


def _watch(threads: Sequence[DutyThread], ended: threading.Event) -> None:
    """Tell of attempts that hang: their threads cannot."""
    while not ended.wait(WATCH_SECONDS):
        for thread in threads:
            thread.report()
