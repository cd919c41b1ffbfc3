"""Which members have left for good, and how they are taken out of the group."""

import threading
from collections.abc import Collection
from typing import Any

import pytest

from logpersister.group.answers import GroupDescription, GroupMember
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.secrets import Secrets
from logpersister_operator.act.departures import RETRY_SECONDS, Departures
from logpersister_operator.decide.health.departed_members import known_names
from logpersister_operator.observed_state import ObservedState, ResourceKey
from tests.unit.kubernetes.samples import Life, by_reference, departed, lag, observed, pod, resource

OLD = "clicks-backup-0a1b2c3d4e5f"
UID = "11111111"
KEY = ResourceKey("logs", "clicks-backup")


def group(*names: str, dynamic: Collection[str] = ()) -> GroupDescription:
    members = [GroupMember(name, "10.0.0.1", 2, is_static=True) for name in names]
    return GroupDescription("Stable", (*members, *(GroupMember(name, "10.0.0.1", 2) for name in dynamic)))


def life_of(members: int) -> tuple[Life, str]:
    """Return a resource with its StatefulSet, and the name of that."""
    life = Life(resource(members=members))
    life.step()
    (name,) = (f"clicks-backup-{revision}" for revision in life.revisions())
    return life, name


def names(life: Life, *pods: str) -> frozenset[str]:
    """Return the names that are known after a look at these pods."""
    seen = observed(life.resource, children=life.children | by_reference([pod(name) for name in pods]))
    return known_after((), seen)


def known_after(before: Collection[str], seen: ObservedState) -> frozenset[str]:
    return known_names(before, seen.own, seen.status, seen.group)


def test_only_who_has_no_pod_and_gets_none_has_departed() -> None:
    life, ours = life_of(2)
    known = names(life, f"{OLD}-0", f"{ours}-0", f"{ours}-1", f"{ours}-2")
    in_group = lag(group=group(f"{OLD}-0", f"{ours}-0", f"{ours}-1", f"{ours}-2"))
    life.children |= by_reference([pod(f"{ours}-0")])
    seen = life.observed(lag=in_group, names=known)
    assert departed(seen) == tuple(sorted([f"{OLD}-0", f"{ours}-2"])), "-1 is only restarting"
    assert life.step(lag=in_group, names=known).leave == departed(seen)
    life.children |= by_reference([pod(f"{OLD}-0"), pod(f"{ours}-2")])
    assert departed(life.observed(lag=in_group, names=known)) == (), "who is on its way out still commits"


def test_a_member_that_is_called_after_the_resource_is_ours_though_nobody_saw_its_pod() -> None:
    life, ours = life_of(2)
    other = "99999999"
    members = [f"{OLD}-0.{UID}", f"{ours}-0.{UID}", f"{ours}-1.{UID}", f"{ours}-2.{UID}", f"{ours}-3.{other}"]
    life.children |= by_reference([pod(f"{ours}-0")])
    in_group = lag(group=group(*members))
    assert departed(life.observed(lag=in_group)) == (f"{OLD}-0.{UID}", f"{ours}-2.{UID}")
    assert life.step(lag=in_group).leave == (f"{OLD}-0.{UID}", f"{ours}-2.{UID}")
    life.children |= by_reference([pod(f"{OLD}-0"), pod(f"{ours}-2")])
    assert departed(life.observed(lag=in_group)) == (), "who is on its way out still commits"


def test_who_comes_back_is_left_in_the_group() -> None:
    life, ours = life_of(3)
    known = names(life, f"{ours}-2")
    life.change(members=1)
    life.step()
    in_group = lag(group=group(f"{ours}-2"))
    assert departed(life.observed(lag=in_group, names=known)) == (f"{ours}-2",)
    life.change(members=3)
    assert life.step(lag=in_group, names=known).leave == (), "the set that shall be has it"


def test_members_of_others_are_never_touched() -> None:
    life, _ = life_of(1)
    others = (f"{OLD}-7", "clicks-backup-copy-0a1b2c3d4e5f-0", "consumer-1", "clicks-backup-0a1b2c3d4e5f-x")
    strange = lag(group=group(*others, dynamic=[f"{OLD}-0"]))
    assert departed(life.observed(lag=strange, names=names(life, f"{OLD}-0"))) == ()
    everything = names(life, *others, f"{OLD}-0")
    assert departed(life.observed(lag=strange, names=everything)) == (f"{OLD}-7",), "the only one that was seen as ours"


def test_an_unknown_group_has_no_departed_members_and_nothing_is_forgotten() -> None:
    life, _ = life_of(1)
    known = names(life, f"{OLD}-0")
    assert departed(life.observed(lag=lag(), names=known)) == ()
    assert known_after(known, life.observed(lag=lag())) == known
    assert known_after(known, life.observed(lag=lag(group=group(f"{OLD}-0")))) == known
    assert known_after(known, life.observed(lag=lag(group=group()))) == frozenset(), "the group has forgotten it"


def test_an_operator_that_starts_knows_members_by_the_last_status() -> None:
    life, _ = life_of(1)
    life.resource["status"]["members"]["list"] = [{"name": f"{OLD}-0", "ready": True}]
    assert known_after((), life.observed()) == {f"{OLD}-0"}


class Kafka:
    """Takes members out of a group, or does not answer."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.error: Exception | None = None
        self._called = threading.Semaphore(0)

    def remove(self, _resource: LogPersister, _secrets: Secrets, names: Collection[str], _reason: str) -> None:
        self.asked.append(sorted(names))
        self._called.release()
        if self.error is not None:
            raise self.error

    def wait(self) -> None:
        assert self._called.acquire(timeout=60)


@pytest.fixture
def kafka() -> Kafka:
    return Kafka()


def test_each_is_removed_once_and_again_only_after_a_while(kafka: Kafka) -> None:
    now = [0.0]
    manifest: Any = parse(resource())
    departures = Departures(1, kafka.remove, clock=lambda: now[0])

    def begin(*names: str) -> None:
        departures.begin(KEY, manifest, Secrets(), names)

    kafka.error = TimeoutError("no broker")
    begin("a", "b")
    kafka.wait()
    begin("a", "b", "c")
    kafka.wait()
    now[0] = RETRY_SECONDS
    begin("a")
    kafka.wait()
    begin()
    begin("a")
    kafka.wait()
    departures.close()
    assert kafka.asked == [["a", "b"], ["c"], ["a"], ["a"]], "who was gone and is there anew is removed at once"
