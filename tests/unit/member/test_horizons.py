"""Up to when folders are finished, as promises have it: read beside the cycle, fresh enough, and at most the truth."""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Any, cast

import pytest

from logpersister.member.horizons import FRESH_SECONDS, BucketHorizons
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore
from tests.unit.manifest.documents import accepted
from tests.unit.member.fakes import FakeDependencies
from tests.unit.member.test_cycle import begun, cycle_in, turn

Note = dict[str, Any] | Exception | None


class Store:
    """A bucket with the note of one topic."""

    prefix = "raw"

    def __init__(self) -> None:
        self.note: Note = None
        self.reads = 0

    def get_tagged(self, key: str) -> tuple[dict[str, Any], str] | None:
        assert key == "raw/_logpersister/backup/finished/clicks/_topic.json"
        self.reads += 1
        if isinstance(self.note, Exception):
            raise self.note
        return None if self.note is None else (self.note, "tag")


class Threads:
    """What was asked is answered when a test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, ask: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: ask(*arguments)))
        return future

    def answer(self) -> None:
        for future, ask in self.waiting:
            try:
                future.set_result(ask())
            except Exception as error:  # noqa: BLE001 - as an executor does
                future.set_exception(error)
        self.waiting = []

    def shutdown(self, **_: Any) -> None:
        """Nothing runs."""


class Bench:
    def __init__(self, late: str = "folder", generation: int = 1) -> None:
        self.time, self.store, self.threads = 100.0, Store(), Threads()
        folders = {"spec.output.partitionBy": [{"date": {"granularity": "day"}}]}
        others = {"spec.overrides": [{"topics": ["orders"], "output": {"partitionBy": []}}]}
        spec = {"spec.finish": {"late": late}, "spec.generation": generation, "spec.kafka.groupId": "backup"}
        resource = accepted({"spec.kafka.topics": ["clicks", "orders"]} | folders | others | spec)
        self.horizons = BucketHorizons(resource, cast("ObjectStore", self.store), clock=lambda: self.time)
        self.horizons.close()
        self.horizons._threads = cast("Any", self.threads)

    def finish(self, end: int, generation: int = 1) -> None:
        self.store.note = {"topic": "clicks", "finishedTo": end, "generation": generation}

    def now(self, *topics: str) -> dict[str, int | None]:
        return self.horizons.now(topics or ("clicks",))

    def read(self) -> int | None:
        """Ask until there is an answer."""
        self.now()
        self.threads.answer()
        return self.now()["clicks"]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_topic_waits_until_the_note_was_read(bench: Bench) -> None:
    bench.finish(5000)
    assert bench.now("clicks", "orders") == {"orders": None}, "that one has no folders by time"
    assert bench.now() == {}
    bench.threads.answer()
    assert bench.now("clicks", "orders") == {"clicks": 5000, "orders": None}
    assert bench.store.reads == 1


def test_what_was_read_is_renewed_before_it_is_too_old_and_never_waited_for_by_a_busy_topic(bench: Bench) -> None:
    bench.finish(5000)
    assert bench.read() == 5000
    bench.finish(6000)
    bench.time += FRESH_SECONDS / 2 - 1
    assert (bench.now(), len(bench.threads.waiting)) == ({"clicks": 5000}, 0)
    bench.time += 1
    assert (bench.now(), len(bench.threads.waiting)) == ({"clicks": 5000}, 1)
    bench.threads.answer()
    assert bench.now() == {"clicks": 6000}
    bench.time += 3600
    assert bench.now() == {}, "a topic that is quiet for an hour must not be promised by what was true then"
    bench.threads.answer()
    assert bench.now() == {"clicks": 6000}


def test_nothing_is_finished_yet_or_not_in_this_generation() -> None:
    assert Bench().read() is None
    raised = Bench(generation=2)
    raised.finish(5000, generation=1)
    assert raised.read() is None
    raised.finish(5000, generation=2)
    raised.time += FRESH_SECONDS
    assert raised.read() == 5000


def test_a_bucket_that_fails_at_first_is_waited_for_and_later_it_is_not(bench: Bench) -> None:
    bench.store.note = StorageError("unreachable", "S3 is away")
    bench.now()
    bench.threads.answer()
    assert (bench.now(), bench.threads.waiting) == ({}, [])
    bench.time += 100
    bench.finish(5000)
    assert bench.read() == 5000
    bench.store.note = StorageError("unreachable", "S3 is away")
    bench.time += FRESH_SECONDS
    assert bench.read() == 5000, "at most the truth"
    bench.time += 3600
    assert bench.read() == 5000
    bench.finish(6000)
    bench.time += 3600
    bench.now()
    bench.threads.answer()
    assert bench.now() == {"clicks": 6000}


class Horizons:
    """As a test says; a topic that is missing has to wait."""

    def __init__(self) -> None:
        self.known: dict[str, int | None] = {}

    def now(self, topics: Collection[str]) -> dict[str, int | None]:
        return {topic: horizon for topic, horizon in self.known.items() if topic in topics}


def test_a_promise_has_the_horizon_and_whoever_executes_it_is_told(fakes: FakeDependencies) -> None:
    fakes.horizons = horizons = Horizons()
    cycle = begun(fakes, clicks=5)
    turn(fakes, cycle)
    assert fakes.jobs.submitted == [], "the topic waits"
    assert cycle.seconds_to_next() <= 1.0, "the answer comes soon"
    horizons.known = {"clicks": 5000}
    turn(fakes, cycle)
    horizons.known = {"clicks": 6000}
    assert horizons_of_jobs(fakes) == [5000]

    after = cycle_in(fakes)
    turn(fakes, after)
    turn(fakes, after)
    assert [one.horizon for one in after.states.pending()] == [5000], "the one of the promise"
    assert horizons_of_jobs(fakes) == [5000]


def horizons_of_jobs(fakes: FakeDependencies) -> list[int | None]:
    return [work.horizon for task in fakes.jobs.submitted[-1][0] for work in task.work]
