"""The judge of partitions finds those that lack and those that are too many."""

import pytest

from tests.chaos.hive_table import examine_partitions

FOLDERS = {"dt=2026-11-21/hr=12/min=00", "dt=2026-11-21/hr=12/min=01"}
LATE = "_late/dt=2026-11-21/hr=12/min=00"


@pytest.mark.parametrize(
    ("found", "kinds"),
    [
        (FOLDERS, []),
        (set(), ["unregistered"]),
        (FOLDERS | {LATE}, ["registered"]),
        ({LATE}, ["unregistered", "registered"]),
    ],
    ids=["all", "no table", "late records as a partition", "others"],
)
def test_partitions_are_the_folders(found: set[str], kinds: list[str]) -> None:
    assert [problem.kind for problem in examine_partitions(found, FOLDERS)] == kinds
