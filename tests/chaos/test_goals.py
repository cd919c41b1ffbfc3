"""A run that has met nothing proves nothing."""

from typing import Any

import pytest

from tests.chaos.choices import INCOMPATIBLE, Choices
from tests.chaos.goals import LONG_SECONDS, Happened, unmet_by, verdict
from tests.chaos.report import Verdict
from tests.chaos.settings import Settings, crews

SHORT, LONG = LONG_SECONDS - 1, LONG_SECONDS
VERY_LONG = 1200.0
PINS = {"seconds": SHORT, "incompatible": "pin"}
CONFLICT = "no commit to the table came behind another one (conflict)"
ALL: dict[str, int] = {
    "snapshots": 1,
    "compactions": 1,
    "conflicts": 1,
    "partitions": 1,
    "finished_folders": 1,
    "late_records": 1,
    "replays": 1,
    "replays_killed": 1,
    "left_out": 1,
    "held_partitions": 3,
    "never_held": 0,
    "held_again": 1,
    "stored_beside": 1,
    "readings": 1,
    "refused_readings": 1,
}
DISTURBANCES = {"kill-tree": 3, "replay-killed": 2, "s3-503": 1}
FAULTS = {"s3-503 (any)": 0, "s3-lose-response (put)": 3, "catalog-500 (commit)": 1}


def unmet(
    happened: dict[str, int],
    *,
    seconds: float = LONG,
    groups: tuple[str, ...] = ("rows", "table"),
    disturbances: dict[str, int] = DISTURBANCES,
    faults: dict[str, int] = FAULTS,
    spark: bool = False,
    **choices: Any,
) -> list[str]:
    settings = Settings(7, seconds=seconds, crews=crews(*groups), choices=Choices(**choices), spark=spark)
    return unmet_by(settings, Happened(**happened), disturbances=disturbances, faults=faults)


@pytest.mark.parametrize("table", ["iceberg", "types", "hive"])
@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("incompatible", INCOMPATIBLE)
def test_a_run_that_has_met_everything_lacks_nothing(table: str, keeps: bool, incompatible: str) -> None:
    assert unmet(ALL, table=table, keeps=keeps, incompatible=incompatible) == []


@pytest.mark.parametrize(
    ("never", "told", "options"),
    [
        ("snapshots", "no member has committed a snapshot", {"seconds": SHORT}),
        ("compactions", "whoever compacts the table has committed no snapshot", {"seconds": SHORT}),
        ("compactions", "whoever compacts the table has committed no snapshot", {"seconds": SHORT, "table": "types"}),
        ("conflicts", CONFLICT, {}),
        ("conflicts", CONFLICT, {"seconds": VERY_LONG, "spark": True}),
        ("partitions", "no folder became a partition of the Hive table", {"seconds": SHORT, "table": "hive"}),
        ("finished_folders", "no folder was finished", {"seconds": SHORT, "table": "hive"}),
        ("late_records", "no record came late", {"late": "quarantine"}),
        ("replays_killed", "no replay was killed after it had begun to change the bucket", {}),
        ("left_out", "conditions have left out no record", {"seconds": SHORT, "keeps": True}),
        ("held_partitions", "no partition was held for an incompatible version of the schema", PINS),
        ("held_again", "nobody has taken over what was held", PINS),
        ("stored_beside", "nothing of other topics was stored beside", PINS),
        ("readings", "no reading became a row", {"seconds": SHORT}),
        ("refused_readings", "no reading was refused", {"seconds": SHORT}),
    ],
)
def test_what_has_never_happened_is_told(never: str, told: str, options: dict[str, Any]) -> None:
    assert unmet(ALL | {never: 0}, **options) == [told]


def test_a_short_run_needs_a_replay_that_has_changed_something_however_it_ended() -> None:
    nothing = ALL | {"replays": 0, "replays_killed": 0}
    assert unmet(nothing, seconds=SHORT) == ["no replay of quarantine has changed anything"]
    assert unmet(nothing | {"replays": 1}, seconds=SHORT) == []
    assert unmet(nothing, seconds=SHORT, disturbances={"kill-tree": 3}) == []


def test_faults_must_be_met_in_a_long_run_by_requests_to_each_service() -> None:
    faults = {"s3-503 (any)": 5, "registry-stall (any)": 0, "registry-500 (any)": 0}
    assert unmet(ALL, faults=faults) == ["no request to registry met a fault"]
    assert unmet(ALL, faults=faults, seconds=SHORT) == []
    assert unmet(ALL, faults={"s3-503 (any)": 0}, seconds=SHORT) == ["no request met a fault"]
    assert unmet(ALL, faults={}) == []


def test_a_run_that_lacks_something_has_broken_nothing_and_proves_nothing() -> None:
    assert verdict([], []) is Verdict.HELD
    assert verdict([], ["no record came late"]) is Verdict.TROUBLE
    assert verdict(["duplicate"], ["no record came late"]) is Verdict.BROKEN
