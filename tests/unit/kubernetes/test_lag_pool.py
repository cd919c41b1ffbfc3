"""Groups share clients, and no client waits for another."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from logpersister_operator.observe import lag_pool
from logpersister_operator.observe.lag_pool import LagPool
from logpersister_operator.observed_state import ResourceKey, UnknownLag
from tests.integration.harness.waiting import eventually

_SECONDS = 20
KEYS = [ResourceKey("logs", f"group-{number}") for number in range(3)]


class Connection:
    """Stands for a client: each group is the function that answers."""

    made: list["Connection"]

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.is_impaired = False
        self.closed = threading.Event()
        self.made.append(self)

    def ask(self, groups: Sequence[Callable[[], str]]) -> list[UnknownLag]:
        self.batches.append(len(groups))
        return [UnknownLag(group()) for group in groups]

    def close(self) -> None:
        self.closed.set()


@pytest.fixture
def told() -> "queue.Queue[ResourceKey]":
    return queue.Queue()


@pytest.fixture
def pool(told: "queue.Queue[ResourceKey]", monkeypatch: pytest.MonkeyPatch) -> Iterator[LagPool]:
    Connection.made = []
    monkeypatch.setattr(lag_pool._Client, "__init__", _with_fake_connection)
    pool = LagPool(seconds=3600, on_answer=told.put, on_asked=lambda *_: None)
    yield pool
    pool.close()


def _with_fake_connection(client: Any) -> None:
    client.connection, client.subjects, client.busy = Connection(), {}, False


def put(pool: LagPool, key: ResourceKey, answer: Callable[[], str], connection: str) -> None:
    group: Any = answer
    pool.put(key, group, connection)


def test_one_that_hangs_delays_only_who_shares_its_client_and_they_are_asked_together(
    pool: LagPool, told: "queue.Queue[ResourceKey]"
) -> None:
    hang = threading.Event()
    slow, other = KEYS[0], ResourceKey("logs", "other")
    put(pool, slow, lambda: str(hang.wait(_SECONDS)), "broker-1")
    eventually("it is being asked", lambda: Connection.made[0].batches == [1])
    for key in KEYS[1:]:
        put(pool, key, lambda: "fine", "broker-1")
    put(pool, other, lambda: "fine", "broker-2")
    assert told.get(timeout=_SECONDS) == other
    assert pool.answer(KEYS[1]) is None
    hang.set()
    assert {told.get(timeout=_SECONDS) for _ in KEYS} == set(KEYS)
    assert [one.batches for one in Connection.made] == [[1, 2], [1]]


def test_a_client_is_closed_with_its_last_group(pool: LagPool, told: "queue.Queue[ResourceKey]") -> None:
    for key in KEYS[:2]:
        put(pool, key, lambda: "fine", "broker-1")
        assert told.get(timeout=_SECONDS) == key
    [first] = Connection.made
    pool.remove(KEYS[0])
    assert pool.answer(KEYS[0]) is None
    assert not first.closed.is_set()
    put(pool, KEYS[1], lambda: "moved", "broker-2")
    assert pool.answer(KEYS[1]) is not None, "until there is another"
    assert first.closed.wait(_SECONDS)
    assert told.get(timeout=_SECONDS) == KEYS[1]
    assert pool.answer(KEYS[1]) == UnknownLag("moved")
