"""However the operator is interrupted and whatever it overlooks: the end is always the same."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self

import pytest

from logpersister_operator.act.reconciler import OutdatedError, Reconciler
from logpersister_operator.cluster.kinds import Document, Reference
from logpersister_operator.decide.validity import check
from logpersister_operator.metrics import Metrics
from logpersister_operator.observe.children import Children, NotListedError
from logpersister_operator.observe.resource import resource_of
from logpersister_operator.observed_state import ObservedState, ResourceKey, SecretsSeen
from logpersister_operator.runtime import subject_of
from tests.unit.kubernetes.fake_cluster import Crash, FakeCluster, Faults, copied
from tests.unit.kubernetes.samples import IMAGE, NOW, lag, resource

KEY = ResourceKey("logs", "clicks-backup")
RESOURCE = Reference("LogPersister", "clicks-backup")
MOST_ROUNDS = 60

searches = pytest.mark.no_cover
"""Tracing lines doubles the time of what plays hundreds of lives; the other tests go through the same lines."""


@dataclass(frozen=True)
class Stage:
    """Where a resource's life is before one of its `CHANGES`."""

    document: Document
    cluster: FakeCluster


class Play:
    """A resource's life with an operator that may be killed, started again, and misinformed."""

    def __init__(self, faults: Faults | None = None, stage: Stage | None = None) -> None:
        stage = copy.deepcopy(stage) or Stage(resource(members=2), FakeCluster())
        self.document = stage.document
        self.cluster = replace(stage.cluster, faults=faults or Faults())
        self.starts = self.reconciled_without_list = 0
        self._start()

    def _start(self) -> None:
        self.starts += 1
        self.time = 0.0
        self.cluster.children = Children(lambda _: None)
        self._told = 0
        if not self.cluster.faults.list_slowly:
            self.cluster.resync()
        self.reconciler = Reconciler(self.cluster, self.cluster.children, Metrics(), lambda: self.time)

    def live(self) -> Self:
        """Go through everything that a user may do to a resource."""
        for change in CHANGES:
            self.follow(change)
        return self

    def follow(self, change: Callable[[Document], None]) -> None:
        """Do what the user wants next, until nothing is left to do."""
        change(self.document)
        self.cluster.put_resource(copy.deepcopy(self.document))
        self._settle()

    def stage(self) -> Stage:
        return copy.deepcopy(Stage(self.document, replace(self.cluster, children=None)))

    def _settle(self) -> None:
        """Reconcile, with members getting ready and the watch catching up, until nothing is left to do."""
        quiet = 0
        for _ in range(MOST_ROUNDS):
            before = self.cluster.writes
            self._reconcile()
            if self.cluster.children is not None and not self.cluster.children.listed(KEY.namespace):
                quiet = 0
            elif self.cluster.writes == before:
                self.cluster.get_members_ready()
                self.cluster.resync()
                quiet += 1
            else:
                quiet = 0
            self.time += 20.0
            if quiet > 2:
                return
        pytest.fail("it never comes to rest")

    def _reconcile(self) -> None:
        assert self.cluster.children is not None
        if not self.cluster.children.listed(KEY.namespace):
            self._list_one_more(self.cluster.children)
        writes, listed = self.cluster.writes, self.cluster.children.listed(KEY.namespace)
        try:
            document = copied(self.cluster.objects[RESOURCE])
            observed = self._observed(document, self.cluster.children)
            self.reconciler.reconcile(subject_of(document, observed, check(observed)))
        except Crash:
            self._start()
        except (OutdatedError, NotListedError):
            pass
        if not listed:
            self.reconciled_without_list += 1
            assert self.cluster.writes == writes, "nothing is decided as long as not everything is known"

    def _list_one_more(self, children: Children) -> None:
        if self.cluster.tell(self._told):
            self._told += 1
        else:
            children.complete()

    def _observed(self, document: Document, children: Children) -> ObservedState:
        return ObservedState(
            NOW,
            resource_of(self.reconciler.with_latest_status(document)),
            IMAGE,
            children=children.of(KEY),
            secrets=SecretsSeen("0123"),
            lag=lag(),
            reports={},
            refusals=self.reconciler.refusals(KEY),
        )

    def end(self) -> dict[Reference, Any]:
        """Return what is there in the end, without the numbers that the API server gives."""
        return {reference: _essence(one) for reference, one in sorted(self.cluster.objects.items())}


def _essence(document: Document) -> Any:
    metadata = {name: document["metadata"].get(name) for name in ("name", "labels", "ownerReferences")}
    status = copied(document.get("status", {}))
    for one in status.get("conditions", []):
        del one["lastTransitionTime"]
    status.pop("observedGeneration", None)
    return {**document, "metadata": metadata, "status": status}


def spec(**sections: Any) -> Callable[[Document], None]:
    return lambda document: document["spec"].update(sections)


def annotate(value: str) -> Callable[[Document], None]:
    return lambda document: document["metadata"].update(annotations={"logpersister.dev/paused": value})


_UNWATCHED: Document = {"canary": {"analysis": {"duration": "0s", "minRanges": 0}}}
CHANGES: list[Callable[[Document], None]] = [
    spec(),
    spec(output={"text": {"compression": "zstd"}}, rollout=_UNWATCHED),
    spec(members=3, networkPolicy="Restricted"),
    spec(spark={"executors": 2}),
    spec(output={"text": {"compression": "rar"}}),
    annotate("true"),
    spec(output={"text": {"compression": "none"}}, networkPolicy="None"),
    annotate("false"),
    spec(output={"text": {"compression": "zstd"}}, rollout={"shadow": {"groupId": "shadow", "prefix": "shadow"}}),
    spec(spark={"executors": 0}, generation=2, rollout=_UNWATCHED),
]


class Undisturbed(Play):
    """A life without faults: how it was before each change, and after it."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[Stage] = []
        self.ends: list[dict[Reference, Any]] = []

    def follow(self, change: Callable[[Document], None]) -> None:
        self.stages.append(self.stage())
        super().follow(change)
        self.ends.append(self.end())

    def compare(self, counted: Callable[[FakeCluster], int], number: int, faults: Faults) -> Play:
        """Play the change in which this write or event comes, and the next change, with a fault; expect the same ends.

        Before the fault nothing differs, and what comes later only knows what is there and what the operator has in
        mind: the next change shows whether that is right.
        """
        first = max(index for index, stage in enumerate(self.stages) if counted(stage.cluster) < number)
        play = Play(faults, self.stages[first])
        for index, change in list(enumerate(CHANGES))[first : first + 2]:
            play.follow(change)
            assert play.end() == self.ends[index], f"change {index}, fault at {number}"
        return play


@pytest.fixture(scope="module")
def undisturbed() -> Undisturbed:
    play = Undisturbed()
    play.live()
    return play


_writes = attrgetter("writes")
_events = attrgetter("events_told")


def test_an_undisturbed_life(undisturbed: Undisturbed) -> None:
    end = undisturbed.end()
    assert sorted(reference.kind for reference in end) == [
        "ConfigMap",
        "LogPersister",
        "PodDisruptionBudget",
        "Service",
        "ServiceAccount",
        "StatefulSet",
    ]
    conditions = {one["type"]: one["status"] for one in end[RESOURCE]["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    assert undisturbed.cluster.writes > 60
    shadow = {reference.kind for reference in undisturbed.ends[-2] if reference.name.endswith("-shadow")}
    assert shadow == {"ConfigMap", "StatefulSet"}


@searches
@pytest.mark.slow
def test_killed_at_any_write(undisturbed: Undisturbed) -> None:
    """To be killed after a write is to be killed before the next one: only the last is another case."""
    last = undisturbed.cluster.writes
    cases = [*((number, False) for number in range(1, last + 1)), (last, True)]
    for number, after in cases:
        play = undisturbed.compare(_writes, number, Faults(crash_at=number, crash_after=after))
        assert play.starts == 2, f"write {number} did not come"


@searches
@pytest.mark.slow
def test_any_event_may_be_lost(undisturbed: Undisturbed) -> None:
    for number in range(1, undisturbed.cluster.events_told + 1):
        undisturbed.compare(_events, number, Faults(hide=number))


@searches
@pytest.mark.slow
def test_what_is_not_listed_yet_is_not_taken_for_gone(undisturbed: Undisturbed) -> None:
    reconciled = 0
    for number in range(1, undisturbed.cluster.writes + 1, 3):
        play = undisturbed.compare(_writes, number, Faults(crash_at=number, list_slowly=True))
        reconciled += play.reconciled_without_list
    assert reconciled > 40


@pytest.mark.parametrize("delay", [1, 3, 6, 11])
def test_old_news(undisturbed: Undisturbed, delay: int) -> None:
    play = Play(Faults(delay=delay)).live()
    assert play.end() == undisturbed.end()


def test_at_rest_nothing_is_written(undisturbed: Undisturbed) -> None:
    before = undisturbed.cluster.writes
    for _ in range(5):
        undisturbed._reconcile()
    assert undisturbed.cluster.writes == before


def test_nothing_is_made_for_a_resource_that_is_about_to_go() -> None:
    play = Play()
    play.cluster.put_resource(copy.deepcopy(play.document))
    stale = copy.deepcopy(play.cluster.objects[RESOURCE])
    play.cluster.objects[RESOURCE]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    observed = ObservedState(NOW, resource_of(stale), IMAGE, secrets=SecretsSeen("0123"))
    with pytest.raises(OutdatedError):
        play.reconciler.reconcile(subject_of(stale, observed, check(observed)))
    assert {reference.kind for reference in play.cluster.objects} == {"LogPersister"}
