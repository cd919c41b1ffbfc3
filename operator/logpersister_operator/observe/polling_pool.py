"""Polls many subjects, each on a schedule of its own: a slow answer never delays another subject."""

import math
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from logpersister.backoff import Backoff

Key = TypeVar("Key")
Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)

JITTER = 0.1
"""Share of a pause by which it may be longer, so that many subjects do not keep step."""


class Schedule(ABC):
    """A thread that begins what is due, and threads that do it."""

    def __init__(self, name: str, threads: int) -> None:
        """Begin; ``name`` is that of the threads, of which so many work at once."""
        self._changed = threading.Condition()
        """To be notified when something may be due sooner than before."""
        self._stopped = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._thread = threading.Thread(target=self._run, name=f"{name}-schedule", daemon=True)
        self._thread.start()

    def close(self, *, cancel: bool = True) -> None:
        """Begin nothing any more, without waiting for answers; ``cancel`` what waits for a thread."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=cancel)

    @abstractmethod
    def _begin_due(self, now: float) -> float:
        """Begin everything that is due, with the lock; return in how many seconds something will be."""

    def _run(self) -> None:
        with self._changed:
            while not self._stopped:
                wait = self._begin_due(time.monotonic())
                self._changed.wait(None if wait == math.inf else wait)


@dataclass(slots=True, eq=False)
class _Subject(Generic[Answer]):
    ask: Callable[[], Answer]
    due: float
    """When it is asked next; infinite while it is."""
    answer: Answer | None = None
    failures: int = 0
    """Failures in a row."""


class PollingPool(Schedule, Generic[Key, Answer]):
    """Answers by key, asked again and again by threads of its own."""

    def __init__(
        self,
        name: str,
        *,
        seconds: float,
        threads: int,
        on_answer: Callable[[Key], None],
        essence: Callable[[Answer], object] = lambda answer: answer,
    ) -> None:
        """Begin with no subject.

        Args:
            name: of the threads.
            seconds: between two questions about the same subject.
            threads: how many may be asked at once.
            on_answer: is called after each answer whose essence has changed.
            essence: what of an answer somebody may act on; all of it unless given.
        """
        self._seconds = seconds
        self._on_answer = on_answer
        self._backoff = Backoff(seconds / 6, seconds * 4)
        """While a question fails."""
        self._essence = essence
        self._subjects: dict[Key, _Subject[Answer]] = {}
        super().__init__(name, threads)

    def put(self, key: Key, ask: Callable[[], Answer]) -> None:
        """Ask about a subject from now on, at once for the first time. ``ask`` has a deadline."""
        with self._changed:
            self._subjects[key] = _Subject(ask, time.monotonic(), self.answer(key))
            self._changed.notify()

    def remove(self, key: Key) -> None:
        """Ask no more about a subject, and forget its answer."""
        with self._changed:
            self._subjects.pop(key, None)

    def answer(self, key: Key) -> Answer | None:
        """Return the last answer; None before the first one."""
        with self._changed:
            subject = self._subjects.get(key)
            return subject.answer if subject else None

    def _begin_due(self, now: float) -> float:
        for key, subject in self._subjects.items():
            if subject.due <= now:
                subject.due = math.inf
                self._pool.submit(self._ask, key, subject)
        return min((subject.due for subject in self._subjects.values()), default=math.inf) - now

    def _ask(self, key: Key, subject: _Subject[Answer]) -> None:
        answer, failed = subject.answer, False
        try:
            answer = subject.ask()
        except Exception:
            failed = True
            log.exception("inquiry.failed", subject=str(key))
        with self._changed:
            if self._subjects.get(key) is not subject:
                return
            before, subject.answer = subject.answer, answer
            subject.failures = subject.failures + 1 if failed else 0
            pause = self._seconds * random.uniform(1.0, 1.0 + JITTER)
            subject.due = time.monotonic() + (self._backoff.pause(subject.failures) if failed else pause)
            self._changed.notify()
        if answer is not None and (before is None or self._essence(before) != self._essence(answer)):
            self._on_answer(key)
