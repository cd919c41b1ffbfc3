"""Asks about the lags of all groups, in batches: one client for each brokers and login, and none waits for another."""

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final

import structlog

from logpersister_operator.observe.batching import Due, next_batch, pause
from logpersister_operator.observe.lag import GroupLag
from logpersister_operator.observe.lag_connection import LagConnection
from logpersister_operator.observe.polling_pool import Schedule
from logpersister_operator.observed_state import KnownLag, ResourceKey, UnknownLag

log = structlog.get_logger(__name__)

THREADS: Final = 32
"""Clients that ask at once."""


@dataclass(slots=True, eq=False)
class _Subject:
    group: GroupLag
    connection: Hashable
    due: Due
    answer: KnownLag | UnknownLag | None = None
    failures: int = 0
    """Failures in a row."""
    asking: float = 0.0
    """Seconds: this subject's part of the time that its last batch took."""


@dataclass(slots=True, eq=False)
class _Client:
    connection: LagConnection = field(default_factory=LagConnection)
    subjects: dict[ResourceKey, _Subject] = field(default_factory=dict)
    busy: bool = False


class LagPool(Schedule):
    """The last known lag of each resource. Thread-safe."""

    def __init__(
        self,
        *,
        seconds: float,
        on_answer: Callable[[ResourceKey], None],
        on_asked: Callable[[int, int], None],
    ) -> None:
        """Begin with no group.

        Args:
            seconds: between two questions about the same group, unless all of them take long (`batching.pause`).
            on_answer: is called after each answer on which somebody may act differently.
            on_asked: is called after each batch, with the number of its groups, and of those whose lag is not known.
        """
        self._seconds = seconds
        self._on_answer = on_answer
        self._on_asked = on_asked
        self._subjects: dict[ResourceKey, _Subject] = {}
        self._clients: dict[Hashable, _Client] = {}
        super().__init__("lag", THREADS)

    def put(self, key: ResourceKey, group: GroupLag, connection: Hashable) -> None:
        """Ask about the group of a resource from now on, at once for the first time.

        Groups of one ``connection`` share a client. The answer about an earlier group of the resource stays until then.
        """
        now = time.monotonic()
        with self._changed:
            before = self._take(key)
            answer = None if before is None else before.answer
            subject = _Subject(group, connection, Due(now, now), answer)
            if connection not in self._clients:
                self._clients[connection] = _Client()
            self._subjects[key] = self._clients[connection].subjects[key] = subject
            self._changed.notify()

    def remove(self, key: ResourceKey) -> None:
        """Ask no more about a resource, and forget its answer."""
        with self._changed:
            self._take(key)

    def answer(self, key: ResourceKey) -> KnownLag | UnknownLag | None:
        """Return the last answer; None before the first one."""
        with self._changed:
            subject = self._subjects.get(key)
            return subject.answer if subject else None

    def close(self, *, cancel: bool = False) -> None:
        """Ask nobody any more, without waiting for answers; a batch that is asked closes its client at its end."""
        super().close(cancel=cancel)
        with self._changed:
            idle = [client for client in self._clients.values() if not client.busy]
        for client in idle:
            client.connection.close()

    def _take(self, key: ResourceKey) -> _Subject | None:
        subject = self._subjects.pop(key, None)
        if subject is not None:
            client = self._clients[subject.connection]
            del client.subjects[key]
            if not client.subjects:
                del self._clients[subject.connection]
                if not self._stopped:
                    self._close_idle(client)
        return subject

    def _close_idle(self, client: _Client) -> None:
        if not client.busy:  # else it is closed when its batch ends
            self._pool.submit(client.connection.close)

    def _begin_due(self, now: float) -> float:
        wait = math.inf
        for client in self._clients.values():
            if client.busy:
                continue
            batch = next_batch({key: one.due for key, one in client.subjects.items()}, now)
            if batch.keys:
                client.busy = True
                self._pool.submit(self._ask, client, {key: client.subjects[key] for key in batch.keys})
            else:
                wait = min(wait, batch.wait)
        return wait

    def _ask(self, client: _Client, subjects: dict[ResourceKey, _Subject]) -> None:
        began = time.monotonic()
        answers: list[KnownLag | UnknownLag] = []
        try:
            answers = client.connection.ask([subject.group for subject in subjects.values()])
            self._on_asked(len(answers), sum(isinstance(answer, UnknownLag) for answer in answers))
        except Exception as error:
            log.exception("lag.failed", groups=len(subjects))
            answers = [UnknownLag(f"{type(error).__name__}: {error}")] * len(subjects)
        now = time.monotonic()
        with self._changed:
            asking = None if client.connection.is_impaired else (now - began) / len(subjects)
            changed = [
                key
                for (key, subject), answer in zip(subjects.items(), answers, strict=True)
                if self._subjects.get(key) is subject and self._note(subject, answer, asking)
            ]
            total = sum(subject.asking for subject in self._subjects.values())
            for subject in subjects.values():
                subject.due = Due.after(now, pause(self._seconds, total, subject.failures), _partitions(subject))
            client.busy = False
            is_over = self._stopped or not client.subjects
            self._changed.notify()
        if is_over:
            client.connection.close()
        for key in changed:
            self._on_answer(key)

    def _note(self, subject: _Subject, answer: KnownLag | UnknownLag, asking: float | None) -> bool:
        """Take in an answer; return whether somebody may act on it differently than before."""
        before, subject.answer = subject.answer, answer
        subject.failures = subject.failures + 1 if isinstance(answer, UnknownLag) else 0
        if asking is not None:
            subject.asking = asking
        return _essence(before) != _essence(answer)


def _partitions(subject: _Subject) -> int:
    """Return how many its group had when that was known last."""
    if isinstance(subject.answer, KnownLag):
        return max(1, subject.answer.summary.partitions)
    return subject.due.partitions


def _essence(answer: KnownLag | UnknownLag | None) -> object:
    return answer.essence if isinstance(answer, KnownLag) else answer
