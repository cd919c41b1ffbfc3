"""Polls many subjects, each on a schedule of its own: a slow answer never delays another subject."""

import heapq
import itertools
import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import structlog

from logpersister.backoff import Backoff

Key = TypeVar("Key")
Answer = TypeVar("Answer")

log = structlog.get_logger(__name__)

JITTER = 0.1
"""Share of a pause by which it may be longer, so that many subjects do not keep step."""


@dataclass(slots=True)
class _Subject(Generic[Answer]):
    ask: Callable[[], Answer]
    answer: Answer | None = None
    failures: int = 0
    """Failures in a row."""
    number: int = field(default=0)
    """Number of the entry in the schedule that counts; older ones are void."""


class PollingPool(Generic[Key, Answer]):
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
        self._schedule: list[tuple[float, int, Key]] = []
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._stopped = False
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._thread = threading.Thread(target=self._run, name=f"{name}-schedule", daemon=True)
        self._thread.start()

    def put(self, key: Key, ask: Callable[[], Answer]) -> None:
        """Ask about a subject from now on, at once for the first time. ``ask`` has a deadline."""
        with self._changed:
            subject = self._subjects.setdefault(key, _Subject(ask))
            subject.ask = ask
            subject.failures = 0
            self._plan(key, subject, 0.0)

    def remove(self, key: Key) -> None:
        """Ask no more about a subject, and forget its answer."""
        with self._changed:
            self._subjects.pop(key, None)

    def answer(self, key: Key) -> Answer | None:
        """Return the last answer; None before the first one."""
        with self._changed:
            subject = self._subjects.get(key)
            return subject.answer if subject else None

    def close(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _plan(self, key: Key, subject: _Subject[Answer], pause: float) -> None:
        subject.number = next(self._numbers)
        heapq.heappush(self._schedule, (time.monotonic() + pause, subject.number, key))
        self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._stopped and not self._is_due():
                    until = self._schedule[0][0] - time.monotonic() if self._schedule else None
                    self._changed.wait(until)
                if self._stopped:
                    return
                _, number, key = heapq.heappop(self._schedule)
                subject = self._subjects.get(key)
                if subject is not None and subject.number == number:
                    self._pool.submit(self._ask, key, subject, number)

    def _is_due(self) -> bool:
        return bool(self._schedule) and self._schedule[0][0] <= time.monotonic()

    def _ask(self, key: Key, subject: _Subject[Answer], number: int) -> None:
        answer, failed = subject.answer, False
        try:
            answer = subject.ask()
        except Exception:
            failed = True
            log.exception("inquiry.failed", subject=str(key))
        with self._changed:
            if self._subjects.get(key) is not subject or subject.number != number:
                return
            differs = self._differs(subject.answer, answer)
            subject.answer = answer
            subject.failures = subject.failures + 1 if failed else 0
            pause = self._seconds * random.uniform(1.0, 1.0 + JITTER)
            self._plan(key, subject, self._backoff.pause(subject.failures) if failed else pause)
        if differs:
            self._on_answer(key)

    def _differs(self, before: Answer | None, now: Answer | None) -> bool:
        if before is None or now is None:
            return before is not now
        return self._essence(before) != self._essence(now)
