"""Who may act, whatever happens to requests, answers, processes and clocks: one, or nobody, and never two."""

import random
from collections.abc import Callable
from typing import Any, TypeVar

import hypothesis.strategies as st
import pytest
from hypothesis import given

from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.cluster.kinds import Document, Kind, Reference
from logpersister_operator.cluster.lease import Candidate, TakenError, Terms
from tests.examples import examples
from tests.unit.kubernetes.fake_cluster import FakeCluster

T = TypeVar("T")
TERMS = Terms(15.0)
LEASE = Reference("Lease", "operator")


class World:
    """An API server and candidates, each with a clock of its own."""

    def __init__(self, candidates: int = 2) -> None:
        self.time = 0.0
        self.server = FakeCluster()
        self.wires = [Wire(self) for _ in range(candidates)]
        self.candidates = [self.candidate(number) for number in range(candidates)]

    def candidate(self, number: int, name: str = "") -> Candidate:
        terms, clock = TERMS, (lambda: self.time + 1000.0 * number)
        return Candidate(self.wires[number], ("system", "operator"), name or f"operator-{number}", terms, clock)

    def acting(self) -> list[int]:
        return [number for number, one in enumerate(self.candidates) if one.until.left > 0]

    def holder(self) -> str:
        return str(self.server.objects[LEASE]["spec"]["holderIdentity"] or "")


class Wire:
    """The way of one candidate to the API server."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.going: Callable[[], None] = lambda: None
        """What happens while a request is on its way; it may raise."""
        self.coming: Callable[[], None] = lambda: None
        """The same for an answer."""

    def get(self, kind: Kind, namespace: str, name: str) -> Document | None:
        return self._ask(lambda: self._world.server.get(kind, namespace, name))

    def create(self, document: Document) -> Document:
        return self._ask(lambda: self._world.server.create(document))

    def replace(self, document: Document) -> Document:
        return self._ask(lambda: self._world.server.replace(document))

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not asked for")

    def _ask(self, ask: Callable[[], T]) -> T:
        self.going()
        answer = ask()
        self.coming()
        return answer


def lose() -> None:
    raise ClusterError("the API server did not answer")


def test_the_first_one_holds_it_and_the_others_wait_until_it_is_silent_for_long_enough() -> None:
    world = World()
    first, second = world.candidates
    assert first.attempt()
    assert not second.attempt()
    for _ in range(20):
        world.time += TERMS.retry
        assert first.attempt()
        assert not second.attempt()
    world.time += TERMS.lease - 0.1
    assert not second.attempt()
    world.time += 0.2
    assert world.acting() == []
    assert second.attempt()
    assert world.acting() == [1]
    assert world.server.objects[LEASE]["spec"]["leaseTransitions"] == 2


def test_one_that_gives_it_back_is_followed_at_once() -> None:
    world = World()
    first, second = world.candidates
    assert first.attempt()
    assert not second.attempt()
    first.release()
    assert world.acting() == []
    assert world.holder() == ""
    assert second.attempt()


def test_one_that_finds_another_in_its_place_says_so() -> None:
    world = World()
    first, second = world.candidates
    assert first.attempt()
    assert not second.attempt()
    world.time += TERMS.lease + 1
    assert second.attempt()
    with pytest.raises(ClusterError, match="has changed"):
        first.attempt()
    with pytest.raises(TakenError, match="operator-1 holds"):
        first.attempt()


def test_a_lease_that_somebody_deletes_is_made_again_by_the_one_that_holds_it() -> None:
    world = World()
    first, second = world.candidates
    assert first.attempt()
    assert not second.attempt()
    del world.server.objects[LEASE]
    assert not second.attempt(), "whoever held it does not know yet"
    with pytest.raises(ClusterError):
        first.attempt()
    assert first.attempt()
    assert world.holder() == "operator-0"


@examples(20)
@given(seed=st.integers(0, 1 << 32))
def test_never_two(seed: int) -> None:
    """Requests and answers are lost and late, processes stop and go on: three want to act."""
    chance = random.Random(seed)
    world = World(3)
    busy: set[int] = set()
    changes = 0

    def pass_time(most: float) -> None:
        until = world.time + chance.uniform(0.0, most)
        while world.time < until:
            world.time = min(until, world.time + 1.0)
            assert len(world.acting()) <= 1

    def trouble() -> None:
        happening = chance.random()
        if happening < 0.10:
            pass_time(2 * TERMS.lease)  # stopped, or a network that gives late what it has got
        if happening < 0.5 and len(busy) < len(world.candidates):
            turn()
        if 0.5 < happening < 0.6:
            lose()

    def turn() -> None:
        nonlocal changes
        number = chance.choice([one for one in range(3) if one not in busy])
        busy.add(number)
        before = world.acting()
        try:
            world.candidates[number].attempt()
        except TakenError:
            world.candidates[number] = world.candidate(number, f"operator-{number}-{world.time}")
        except ClusterError:
            pass
        finally:
            busy.discard(number)
        assert len(world.acting()) <= 1
        changes += world.acting() not in ([], before)

    for wire in world.wires:
        wire.going = wire.coming = trouble
    for _ in range(120):
        turn()
        pass_time(chance.choice([TERMS.retry, TERMS.retry, TERMS.retry, TERMS.lease]))
    assert changes > 3, "others come to act, too"
