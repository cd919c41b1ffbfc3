"""A run that has met nothing proves nothing."""

from dataclasses import asdict
from typing import Any

import pytest

from tests.chaos.choices import INCOMPATIBLE, TABLES, Choices
from tests.chaos.goals import LONG_SECONDS, Happened, unmet_by, verdict
from tests.chaos.report import Verdict
from tests.chaos.settings import Settings, crews

SHORT, LONG = LONG_SECONDS - 1, LONG_SECONDS
ALL = dict.fromkeys(asdict(Happened()), 1) | {"never_held": 0}
BACKUP: dict[str, Any] = {"groups": ("text", "files", "rows"), "files": "kafka"}
NO_REPLAY = {"replays": 0, "replays_killed": 0}


def unmet(
    *,
    happened: dict[str, int] | None = None,
    seconds: float = LONG,
    disturbances: tuple[str, ...] = ("kill-tree", "replay-killed"),
    faults: dict[str, int] | None = None,
    spark: bool = False,
    groups: tuple[str, ...] = ("rows", "table"),
    **choices: Any,
) -> list[str]:
    settings = Settings(7, seconds=seconds, crews=crews(*groups), choices=Choices(**choices), spark=spark)
    met = {"s3-503 (any)": 0, "s3-lose-response (put)": 3} if faults is None else faults
    return unmet_by(
        settings, Happened(**ALL | (happened or {})), disturbances=dict.fromkeys(disturbances, 1), faults=met
    )


def test_a_run_that_has_met_everything_lacks_nothing() -> None:
    for table in TABLES:
        for incompatible in INCOMPATIBLE:
            assert unmet(table=table, keeps=incompatible == "pin", incompatible=incompatible) == []


@pytest.mark.parametrize("never", sorted(ALL.keys() - {"replays"}))
def test_what_has_never_happened_is_told(never: str) -> None:
    """By one sentence; all kinds of runs together ask for everything."""
    happened = {never: int(never == "never_held")}
    runs = [BACKUP, *({"table": table, "incompatible": "pin", "keeps": True} for table in TABLES)]
    assert len({told for options in runs for told in unmet(happened=happened, **options)}) == 1


def test_a_short_run_need_not_meet_what_comes_by_chance() -> None:
    by_chance = dict.fromkeys(("conflicts", "late_records", "replays_killed"), 0)
    assert len(unmet(happened=by_chance)) == 3
    assert unmet(happened=by_chance, seconds=SHORT) == []
    assert unmet(happened={"conflicts": 0}, seconds=1199.0, spark=True) == []


def test_replays_and_faults_that_nobody_met() -> None:
    assert unmet(happened=NO_REPLAY, seconds=SHORT) == ["no replay of quarantine has changed anything"]
    assert unmet(happened=NO_REPLAY | {"replays": 1}, seconds=SHORT) == []
    assert unmet(happened=NO_REPLAY, seconds=SHORT, disturbances=("kill-tree",)) == []
    faults = {"s3-503 (any)": 5, "registry-stall (any)": 0, "registry-500 (any)": 0}
    assert unmet(faults=faults) == ["no request to registry met a fault"]
    assert unmet(faults=faults, seconds=SHORT) == []
    assert unmet(faults={"s3-503 (any)": 0}, seconds=SHORT) == ["no request met a fault"]
    assert unmet(faults={}) == []


def test_a_run_that_lacks_something_has_broken_nothing_and_proves_nothing() -> None:
    assert verdict([], []) is Verdict.HELD
    assert verdict([], ["no record came late"]) is Verdict.TROUBLE
    assert verdict(["duplicate"], ["no record came late"]) is Verdict.BROKEN
