"""What must be met before an incompatible version is mended, and how that is done, without any server."""

import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.chaos import incompatible
from tests.chaos.check import Progress
from tests.chaos.choices import Choices
from tests.chaos.chronicle import Chronicle
from tests.chaos.crew import Crew, Place
from tests.chaos.disturbances import Kill
from tests.chaos.goals import Happened
from tests.chaos.incompatible import IncompatibleVersion, compared
from tests.chaos.settings import Settings, crews


class Process:
    """A member that says what it holds."""

    alive = True

    def __init__(self, name: str, *held: int) -> None:
        self.log = Path(f"{name}.log")
        self._held = held

    def events(self, name: str, *, reason: str) -> list[dict[str, Any]]:
        assert (name, reason) == ("partition.held", "schema-incompatible")
        return [{"topic": "sales", "partition": number} for number in self._held]


class Stage:
    """As much of `tests.chaos.stage.Stage` as the disturbance reaches."""

    def __init__(self, choices: Choices) -> None:
        self.settings = Settings(7, crews=crews("rows"), choices=choices)
        self.chronicle = Chronicle()
        self.registry = SimpleNamespace(serves=lambda: True)
        self.busy: set[str] = set()
        self.happened = Happened()
        self.broken: list[str] = []
        self.partitions = Counter({"sales": 2})
        self.calls: list[Any] = []
        self.writers = SimpleNamespace(
            refuse=lambda: 3,
            mend=lambda: self.calls.append("mend"),
            delete_refused=lambda: self.calls.append("delete"),
        )
        self.crew = Crew(Path(), self.chronicle, [Place(f"rows-{one}", "rows", Path()) for one in (1, 2)])
        self.stands = {"sales": 5, "events": 7}

    def pin(self, output: Any, version: int) -> None:
        self.calls.append((output.name, version))

    def act(self, number: int, *held: int, name: str = "first") -> None:
        self.crew.places[number].process = cast("Any", Process(f"{name}-{number}", *held))


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    made = Stage(Choices(incompatible="pin"))
    monkeypatch.setattr(incompatible, "_ASK_SECONDS", 0.0)
    monkeypatch.setattr(
        incompatible, "_stands", lambda it: {"rows": {(t, 0): Progress(n, (), 99) for t, n in it.stands.items()}}
    )
    monkeypatch.setattr(Crew, "working", lambda _, place: place.up)
    monkeypatch.setattr(Crew, "kill_all", lambda _, place: setattr(place, "process", None))
    return made


def begun(stage: Any) -> IncompatibleVersion:
    kill = Kill(which=0.0, how="tree", at_upload=False, delay=0.0, back_after=1.0)
    found = IncompatibleVersion(seconds=1.0, meanwhile=kill)
    assert found.ready(stage)
    assert found.begin(stage) == "the version after 3 can read none before it"
    return found


def test_it_is_mended_when_all_was_held_and_held_again_while_others_went_on(stage: Stage) -> None:
    stage.act(0)
    stage.act(1, 1)
    broken = begun(stage)
    assert stage.busy == {"sales"}
    assert not broken.over(), "partition 0 is not held"
    stage.act(1, 0, 1, name="second")
    assert not broken.over()
    assert stage.crew.places[1].process is None, "of those who hold something, one is killed"
    assert not broken.over(), "nobody holds it again"
    stage.act(0, 0)
    assert not broken.over(), "nothing of others is stored"
    stage.stands["events"] += 4
    assert broken.over()
    assert "2 partitions were held" in broken.end(cast("Any", stage))
    assert stage.calls == [("rows", 3)]
    assert [place.outdated for place in stage.crew.places] == [True, False], "who begins anyway needs no restart"
    assert (stage.busy, stage.broken) == (set(), [])
    happened = stage.happened
    assert (happened.held_partitions, happened.never_held, happened.stored_beside) == (2, 0, 4)
    assert happened.held_again == 1


def test_what_moves_though_it_is_held_is_told(stage: Stage) -> None:
    stage.act(0, 0, 1)
    broken = begun(stage)
    assert not broken.over()
    stage.stands["sales"] += 1
    assert broken.over()
    assert stage.broken == ["rows: sales-0 has moved, and was held for the schema"]


@pytest.mark.parametrize("remedy", ["mend", "delete"])
def test_patience_ends(stage: Stage, monkeypatch: pytest.MonkeyPatch, remedy: Any) -> None:
    stage.settings = Settings(7, crews=crews("rows"), choices=Choices(incompatible=remedy))
    broken = begun(stage)
    monkeypatch.setattr(incompatible, "_PATIENCE_SECONDS", -1.0)
    assert broken.over()
    broken.end(cast("Any", stage))
    assert stage.calls == [remedy]
    assert (stage.happened.held_partitions, stage.happened.never_held) == (0, 2)


def test_a_partition_without_rows_would_begin_with_it(stage: Stage) -> None:
    stage.stands["sales"] = 0
    version = IncompatibleVersion(meanwhile=cast("Any", None))
    assert not version.ready(cast("Any", stage))
    stage.stands["sales"] = 1
    assert version.ready(cast("Any", stage))


def test_a_member_begins_anew_when_it_can_be_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    crew, told = Crew(Path(), Chronicle(), [Place("rows-1", "rows", Path())]), []
    (place,) = crew.places
    place.process, place.frozen = cast("Any", Process("rows-1")), True
    monkeypatch.setattr(Process, "terminate", lambda it: told.append(it.log.name), raising=False)
    crew.renew("text")
    crew.renew("rows")
    crew.tick()
    assert told == [], "it is frozen"
    place.frozen = False
    crew.tick()
    assert told == ["rows-1.log"]
    assert place.start_at is not None
    assert place.start_at <= time.monotonic()


def test_what_is_held_has_not_moved_and_the_others_have() -> None:
    def stands(**committed: int) -> dict[str, dict[tuple[str, int], Progress]]:
        return {"rows": {(topic, 0): Progress(at, (), 99) for topic, at in committed.items()}}

    before = stands(sales=5, events=7)
    assert compared(before, stands(sales=5, events=9)) == (2, [])
    assert compared(before, stands(sales=6, events=7)) == (0, ["rows: sales-0"])
