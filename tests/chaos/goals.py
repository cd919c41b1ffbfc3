"""What a run is for: what it must have met besides the verdict of its judges, or it proves nothing.

Judges agree as well where nothing happened: a table that nobody compacts has each row once. So what the options of a
run ask for is counted. A run that lacks some of it has broken no promise, and has not shown that one was held.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from tests.chaos import sales
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
    left_out: int = 0
    """Sales that conditions leave out, in each group that has them."""
    held_partitions: int = 0
    """Of sales, in each group that has them, for a version of the schema that can read none before it."""
    never_held: int = 0
    """The others of them, while there was such a version."""
    held_again: int = 0
    """Times that a process has held one of them after somebody who did was killed or frozen."""
    stored_beside: int = 0
    """Records of other topics of these groups, while all of these partitions were held."""
    readings: int = 0
    """That became rows."""
    refused_readings: int = 0

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
        ("conditions have left out no record", settings.leaves_out and not happened.left_out),
        ("no reading became a row", settings.has_readings and not happened.readings),
        ("no reading was refused", settings.has_readings and not happened.refused_readings),
        *_of_an_incompatible_version(settings, happened),
    ]
    return [what for what, is_unmet in wants if is_unmet]


def _of_an_incompatible_version(settings: Settings, happened: Happened) -> Iterator[tuple[str, bool]]:
    if settings.has_incompatible_version:
        yield "no partition was held for an incompatible version of the schema", not happened.held_partitions
        yield "an incompatible version of the schema has not held all partitions", bool(happened.never_held)
        yield "nobody has taken over what was held", not happened.held_again
        stands_alone = all(len(output.topics) == 1 for output in settings.outputs_of(sales.TOPIC))
        yield "nothing of other topics was stored beside", not stands_alone and not happened.stored_beside


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
