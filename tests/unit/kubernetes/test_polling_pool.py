"""When subjects are asked: each in its own time, soon after a failure, and ever less when it goes on failing."""

import queue
import threading
from collections.abc import Iterator

import pytest

from logpersister.backoff import Backoff
from logpersister_operator.observe.polling_pool import PollingPool

_SECONDS = 20


@pytest.fixture
def told() -> "queue.Queue[str]":
    return queue.Queue()


@pytest.fixture
def asking(told: "queue.Queue[str]") -> Iterator[PollingPool[str, str]]:
    """Pauses of an hour, but for a hundredth of a second after a failure."""
    asking: PollingPool[str, str] = PollingPool("test", seconds=3600, threads=2, on_answer=told.put)
    asking._backoff = Backoff(0.01, 3600)
    yield asking
    asking.close()


def test_a_failure_is_no_answer_for_long(asking: PollingPool[str, str], told: "queue.Queue[str]") -> None:
    answers = iter([[], [], ["fine"]])
    asking.put("a", lambda: next(answers)[0])
    assert told.get(timeout=_SECONDS) == "a"
    assert asking.answer("a") == "fine"


def test_one_that_hangs_delays_no_other(asking: PollingPool[str, str], told: "queue.Queue[str]") -> None:
    hang = threading.Event()
    asking.put("slow", lambda: "at last" if hang.wait(_SECONDS) else "never")
    for name in ("a", "b"):
        asking.put(name, lambda: "fine")
    assert {told.get(timeout=_SECONDS) for _ in range(2)} == {"a", "b"}
    assert asking.answer("slow") is None
    hang.set()
    assert told.get(timeout=_SECONDS) == "slow"
