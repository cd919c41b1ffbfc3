"""A run that has met nothing proves nothing."""

from dataclasses import asdict
from typing import Any

import pytest

from tests.chaos.choices import INCOMPATIBLE, TABLES, Choices
from tests.chaos.goals import LONG_SECONDS, Happened, unmet_by, verdict
from tests.chaos.report import Verdict
from tests.chaos.settings import Settings, crews

SHORT, LONG = LONG_SECONDS - 1, LONG_SECONDS
CONFLICT = "no commit to the table came behind another one (conflict)"
ALL = dict.fromkeys(asdict(Happened()), 1) | {"never_held": 0}
BACKUP = {"groups": ("text", "files", "rows"), "files": "kafka"}
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


@pytest.mark.parametrize(
    ("never", "told", "options"),
    [
        ("snapshots", "no member has committed a snapshot", {"seconds": SHORT}),
        ("compactions", "whoever compacts the table has committed no snapshot", {"seconds": SHORT, "table": "types"}),
        ("conflicts", CONFLICT, {}),
        ("conflicts", CONFLICT, {"seconds": 1200.0, "spark": True}),
        ("partitions", "no folder became a partition of the Hive table", {"seconds": SHORT, "table": "hive"}),
        ("finished_folders", "no folder was finished", {"seconds": SHORT, "table": "hive"}),
        ("late_records", "no record came late", {"late": "quarantine"}),
        ("replays_killed", "no replay was killed after it had begun to change the bucket", {}),
        ("left_out", "conditions have left out no record", {"seconds": SHORT, "keeps": True}),
        ("held_partitions", "no partition was held for an incompatible version of the schema", {"incompatible": "pin"}),
        ("held_again", "nobody has taken over what was held", {"incompatible": "pin"}),
        ("stored_beside", "nothing of other topics was stored beside", {"incompatible": "pin"}),
        ("histories", "no history was stored again", {"seconds": SHORT, **BACKUP}),
        ("histories_disturbed", "no replay of history was disturbed", {"seconds": SHORT, **BACKUP}),
        ("switches", "readers were not switched", {"seconds": SHORT, **BACKUP}),
        ("restores_killed", "no restore was killed in the middle", {"seconds": SHORT, **BACKUP}),
        ("readings", "no reading became a row", {"seconds": SHORT}),
        ("refused_readings", "no reading was refused", {"seconds": SHORT}),
    ],
)
def test_what_has_never_happened_is_told(never: str, told: str, options: dict[str, Any]) -> None:
    assert unmet(happened={never: 0}, **options) == [told]


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
