"""What a run is for: what it must have met besides the verdict of its judges, or it proves nothing.

Judges agree as well where nothing happened: a table that nobody compacts has each row once. So what the options of a
run ask for is counted. A run that lacks some of it has broken no promise, and has not shown that one was held.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from tests.chaos.report import Verdict
from tests.chaos.settings import Settings

LONG_SECONDS: Final = 240.0
"""A run that disturbs for at least so long must have met what comes by chance, too."""
_CONFLICT_BY_SPARK_SECONDS: Final = 1200.0
"""Spark commits more seldom, and tries again by itself."""


@dataclass
class Happened:
    """Counts of what a run has met."""

    snapshots: int = 0
    """Of members, in all tables."""
    compactions: int = 0
    """Snapshots of whoever compacts beside members."""
    conflicts: int = 0
    """Commits to a table that came behind somebody else's: of members, and of whoever compacts."""
    partitions: int = 0
    """Of the Hive table."""
    finished_folders: int = 0
    late_records: int = 0
    """That came when their folder was finished."""
    replays: int = 0
    """That changed the bucket beside members, and came to their end."""
    replays_killed: int = 0
    """After they had begun to change the bucket."""
    histories: int = 0
    """Replays of history that came to their end while members worked."""
    histories_disturbed: int = 0
    """Processes of them that were killed or frozen."""
    switches: int = 0
    restores_killed: int = 0
    """After they had begun to produce."""

    def counts(self) -> dict[str, int]:
        return {name.replace("_", " "): number for name, number in asdict(self).items()}


def verdict(problems: Sequence[str], unmet: Sequence[str]) -> Verdict:
    """Return how a run ended, by what is wrong and by what it has not met."""
    if problems:
        return Verdict.BROKEN
    return Verdict.TROUBLE if unmet else Verdict.HELD


def unmet_by(
    settings: Settings, happened: Happened, *, disturbances: Mapping[str, int], faults: Mapping[str, int]
) -> list[str]:
    """Return what a run was for and has not met.

    Args:
        settings: its options.
        happened: what there was.
        disturbances: those that have begun, by name.
        faults: requests that met one, by the name of the disturbance; those that nobody met are in it, too.
    """
    is_long = settings.seconds >= LONG_SECONDS
    wants = [*_of_faults(faults, is_long=is_long), *_of_tables(settings, happened, is_long=is_long)]
    replays = happened.replays + happened.replays_killed
    wants += [
        ("no folder was finished", settings.has_table and not happened.finished_folders),
        ("no record came late", is_long and settings.has_table and not happened.late_records),
        (
            "no replay of quarantine has changed anything",
            not replays and any(name.startswith("replay") for name in disturbances),
        ),
        (
            "no replay was killed after it had begun to change the bucket",
            is_long and "replay-killed" in disturbances and not happened.replays_killed,
        ),
        ("no history was stored again", settings.has_history and not happened.histories),
        (
            "no replay of history was disturbed",
            settings.has_history and not happened.histories_disturbed,
        ),
        ("readers were not switched", settings.has_history and not happened.switches),
        ("no restore was killed in the middle", settings.has_backup and not happened.restores_killed),
    ]
    return [what for what, is_unmet in wants if is_unmet]


def _of_faults(faults: Mapping[str, int], *, is_long: bool) -> Iterator[tuple[str, bool]]:
    """Yield what is wanted of faults: that requests met one, in a long run of each service."""
    yield "no request met a fault", bool(faults) and not any(faults.values())
    by_service: dict[str, int] = {}
    for name, number in faults.items():
        service = name.partition("-")[0]
        by_service[service] = by_service.get(service, 0) + number
    for service, number in by_service.items():
        yield f"no request to {service} met a fault", is_long and not number


def _of_tables(settings: Settings, happened: Happened, *, is_long: bool) -> Iterator[tuple[str, bool]]:
    if settings.has_hive:
        yield "no folder became a partition of the Hive table", not happened.partitions
    if settings.has_iceberg:
        least = _CONFLICT_BY_SPARK_SECONDS if settings.spark else LONG_SECONDS
        yield "no member has committed a snapshot", not happened.snapshots
        yield "whoever compacts the table has committed no snapshot", not happened.compactions
        yield (
            "no commit to the table came behind another one (conflict)",
            settings.seconds >= least and not happened.conflicts,
        )
