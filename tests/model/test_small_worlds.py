"""Every path of small worlds within bounds. Larger bounds: ``make model ARGS='--exhaustive --faults 2 --pauses 1'``."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from logpersister.plan.partitions import PartitionStates
from tests.model.chronicle import Violation
from tests.model.paths import Bounds
from tests.model.rules import Rules
from tests.model.scenes import SCENES
from tests.model.search import Search, replay

LEAST_SCHEDULES = {
    "crashes": 5000,
    "from hand to hand": 4500,
    "a member comes": 7000,
    "two revisions": 1500,
    "two generations": 2300,
    "two places": 1500,
    "two places, each with its own keys": 2400,
    "a place takes nothing more": 3500,
    "records get lost": 2000,
    "records get lost beside a zombie": 12000,
    "a schema evolves": 1500,
    "a version can read none before it": 1000,
    "folders are finished": 3000,
    "Kafka forgets while folders are finished": 1200,
    "a user resets offsets": 6000,
    "a former coordinator answers": 5000,
    "Kafka shows older commits": 3000,
    "a partition is added": 1200,
    "Kafka forgets a group that raises its generation": 1100,
    "Kafka forgets": 2700,
    "Kafka forgets, and a parser refuses records": 500,
    "Kafka forgets what was replayed": 50,
    "Kafka forgets a group whose history was stored again": 250,
    "the topic is made again": 5500,
    "everything": 2300,
}
"""A search that has less to try has lost something that can happen."""
_MOST_SCHEDULES = 2000
"""Of the worlds that each run plays; `make soak` plays the larger ones, which take as long as all other unit tests."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.soak if LEAST_SCHEDULES[name] > _MOST_SCHEDULES else ()) for name in SCENES],
)
def test_the_promise_holds_on_every_path(name: str) -> None:
    explored = Search(SCENES[name], SCENES[name].bounds).run()
    if explored.violation is not None:
        raise explored.violation
    assert explored.schedules >= LEAST_SCHEDULES[name]


@pytest.mark.parametrize("name", ["crashes", "from hand to hand", "records get lost"])
def test_paths_that_end_where_others_have_been_miss_nothing(name: str) -> None:
    """The same moments come about when every path is played to its end."""
    bounds = [Bounds(faults=1, pauses=0)]
    pruned, whole = Search(SCENES[name], bounds), Search(SCENES[name], bounds, prune=False)
    assert pruned.run().moments == whole.run().moments
    assert pruned.explored.schedules <= whole.explored.schedules


def test_a_path_that_breaks_a_promise_is_told_by_its_deviations() -> None:
    scene, rules = SCENES["crashes"], Rules(names_without_clock=False)
    violation = Search(scene, scene.bounds, rules).run().violation
    assert violation is not None
    command = str(violation).splitlines()[0]
    deviations = command.rpartition("--deviations ")[2]
    assert deviations.count(":") == 1  # one crash is enough, and the fewest are tried first
    decision, option = map(int, deviations.split(":"))
    with pytest.raises(Violation) as again:
        replay(scene, ((decision, option),), rules)
    assert str(again.value) == str(violation)


def test_a_path_can_be_told_again_in_another_process() -> None:
    command = [sys.executable, "-m", "tests.model", "--scene", "a member comes", "--deviations", "9:1"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told.strip() == replay(SCENES["a member comes"], ((9, 1),))


def test_a_fingerprint_takes_in_what_production_code_adds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of a kind that nobody has thought of makes it fail, so that it cannot be overlooked."""
    original = PartitionStates.__init__

    def with_more(self: Any, generation: int) -> None:
        original(self, generation)
        self.addition = SimpleNamespace()

    monkeypatch.setattr(PartitionStates, "__init__", with_more)
    with pytest.raises(TypeError, match="SimpleNamespace"):
        Search(SCENES["crashes"], [Bounds(0, 0)]).run()
