"""Folders by time: what their names say, and when they are over, also where clocks are set."""

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from logpersister.manifest.blocks.partition_rule import DateRule, OffsetRule, PartitionRule
from logpersister.records.paths import make_layout
from logpersister.records.time_folders import TimeFolder, TimeFolders, time_folders
from logpersister.records.type_folders import TypeFolders, folders_by_time
from tests.unit.manifest.documents import accepted

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


def dates(*granularities: str, zone: str = "UTC") -> list[PartitionRule]:
    return [PartitionRule.model_validate({"date": {"granularity": one, "timezone": zone}}) for one in granularities]


def folders(*granularities: str, zone: str = "UTC") -> TimeFolders:
    found = time_folders(dates(*granularities, zone=zone))
    assert found is not None
    return found


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize(
    ("levels", "path", "folder", "end"),
    [
        (("day",), "dt=2026-11-21", "dt=2026-11-21", "2026-11-22T00:00Z"),
        (("day", "hour"), "dt=2026-11-21/hr=05", "dt=2026-11-21/hr=05", "2026-11-21T06:00Z"),
        (("hour", "minute"), "hr=2026-11-21-23/min=59/x=1", "hr=2026-11-21-23/min=59", "2026-11-22T00:00Z"),
        (("year",), "year=2028/month=02", "year=2028", "2029-01-01T00:00Z"),
        (("year", "month"), "year=2028/month=02/x=1", "year=2028/month=02", "2028-03-01T00:00Z"),
    ],
)
def test_names_say_when_a_folder_is_over(levels: tuple[str, ...], path: str, folder: str, end: str) -> None:
    assert folders(*levels).folder_of(path) == TimeFolder(at(end), folder)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "_quarantine",
        "dt=unknown/hr=unknown",
        "dt=2026-11-21",
        "dt=2026-02-30/hr=01",
        "dt=9999-12-31/hr=23",
        "a/b",
    ],
)
def test_other_folders_are_none_by_time(path: str) -> None:
    assert folders("day", "hour").folder_of(path) is None


def test_folders_of_outer_levels_are_over_with_the_last_of_what_is_in_them() -> None:
    """Also on the day on which an hour comes twice."""
    layout = folders("day", "hour", "minute", zone="Europe/Berlin")
    assert [(one.granularity, one.depth) for one in layout.outer] == [("day", 1), ("hour", 2)]
    folder = layout.folder_of("dt=2026-10-25/hr=02/min=59/x=1")
    assert folder is not None
    day, hour = layout.outer_of(folder)
    assert (day.path, day.end) == ("dt=2026-10-25", at("2026-10-25T23:00Z"))
    assert (hour.path, hour.end, folder.end) == (
        "dt=2026-10-25/hr=02",
        at("2026-10-25T02:00Z"),
        at("2026-10-25T02:00Z"),
    )
    last = layout.folder_of("dt=2026-10-25/hr=23/min=59")
    assert last is not None
    around = [*layout.outer_of(last), last]
    assert (len({one.end for one in around}), sorted(around)) == (1, around[::-1])
    assert [*folders("hour").outer_of(folder)] == []


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize(
    ("granularity", "first", "name", "older"),
    [
        ("hour", "hr=1970-01-01", "hr=2026-11-18", ["hr=2026-11-17-23", "hr=2026-11-18-00", "hr=2026-11-19-23"]),
        ("month", "month=1970-01", "month=2026-10", ["month=2026-09", "month=2026-10"]),
    ],
)
def test_a_name_before_those_of_all_folders_that_end_later(
    zone: str, granularity: str, first: str, name: str, older: list[str]
) -> None:
    layout = folders(granularity, zone=zone)
    instant = at("2026-11-21T05:00Z")
    assert layout.before_all(instant) == name
    assert all((layout.folder_of(path) or TimeFolder(1 << 62, "")).end <= instant for path in older)
    assert layout.before_all(5) == first


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [PartitionRule(offset=OffsetRule(every=10))],
        [*dates("day"), PartitionRule(offset=OffsetRule(every=10)), *dates("hour")],
        [*dates("day"), *dates("hour", zone="Europe/Berlin")],
        [*dates("day"), PartitionRule(date=DateRule(granularity="hour", field="at"))],
    ],
)
def test_levels_that_do_not_stand_together_are_no_folders_by_time(rules: list[PartitionRule]) -> None:
    assert time_folders(rules) is None


def paths_of(rules: list[PartitionRule], instants: list[int]) -> list[str]:
    """Return the path of each time, as members give it to records."""
    batch = pa.record_batch({"offset": pa.array(range(len(instants))), "timestamp": pa.array(instants, pa.int64())})
    assignment = make_layout(rules).assign(batch)
    return [assignment.paths[int(index)] for index in np.asarray(assignment.indices)]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"])
@pytest.mark.parametrize("granularity", ["month", "day", "hour", "minute"])
def test_no_record_at_or_after_its_end_is_in_a_folder_and_one_before_it_is(zone: str, granularity: str) -> None:
    """With the layout that gives records their paths, around random times and around changes of the clock."""
    chance = random.Random(f"{zone} {granularity}")
    rules, found = dates(granularity, zone=zone), folders(granularity, zone=zone)
    years = [datetime(year, 1, 1, tzinfo=UTC) for year in (2011, 2018, 2026)]
    instants = [
        int((chance.choice(years) + timedelta(minutes=chance.randrange(527_040))).timestamp()) for _ in range(60)
    ]
    instants += [second for year in years for second in changes(zone, year)]
    for second in instants:
        (path,) = paths_of(rules, [second * 1000])
        folder = found.folder_of(path)
        assert folder is not None
        assert second * 1000 < folder.end
        after = [folder.end + step * MINUTE_MS for step in range(0, 27 * 60, 7)]
        assert path not in paths_of(rules, after)
        assert paths_of(rules, [folder.end - 1]) == [path]


def changes(zone: str, year: datetime) -> list[int]:
    """Return seconds around which clocks are set."""
    hours = [year + timedelta(hours=hour) for hour in range(366 * 24)]
    offsets = [hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours]
    at_change = [hours[place] for place in range(1, len(hours)) if offsets[place] != offsets[place - 1]]
    return [int((hour + timedelta(minutes=step)).timestamp()) for hour in at_change for step in range(-130, 131, 26)]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe"])
@pytest.mark.parametrize(("granularity", "hours"), [("hour", 3), ("month", 31 * 24 + 1)])
def test_the_last_folder_that_is_over(zone: str, granularity: str, hours: int) -> None:
    found = folders(granularity, zone=zone)
    for second in [*changes(zone, datetime(2018, 1, 1, tzinfo=UTC)), at("2026-11-21T05:30Z") // 1000]:
        instant = second * 1000
        end = found.last_end(instant)
        assert instant - hours * HOUR_MS < end <= instant
        assert found.last_end(end) == end
        assert found.last_end(end - 1) < end


def test_each_type_has_folders_of_its_own() -> None:
    hourly = {"text": {}, "partitionBy": [{"date": {"granularity": one}} for one in ("day", "hour")]}
    daily = {"text": {}, "partitionBy": [{"date": {"granularity": "day", "timezone": "Asia/Tokyo"}}]}
    entries = [{"names": ["a"], "output": hourly}, {"pattern": "^b", "folder": "c", "output": daily}, {"names": ["d"]}]
    spec = accepted({"spec.finish": {"trigger": "record-time"}, "spec.types": {"header": "h", "entries": entries}}).spec
    found = folders_by_time(spec)
    assert isinstance(found, TypeFolders)
    hour, day, noon = 3_600_000, 24 * 3_600_000, 1_774_699_200_000  # 2026-03-28T12:00Z
    assert found.folder_of("type=a/dt=2026-03-28/hr=11/more") == TimeFolder(noon, "type=a/dt=2026-03-28/hr=11")
    assert found.folder_of("type=c/dt=2026-03-28") == TimeFolder(noon + 3 * hour, "type=c/dt=2026-03-28")
    for path in ("type=a/dt=2026-03-28", "type=d", "type=d/dt=2026-03-28", "_quarantine", "dt=2026-03-28/hr=11", ""):
        assert found.folder_of(path) is None, path
    assert found.last_end(noon + 59 * 60_000) == noon, "the hour"
    assert found.last_end(noon + 3 * hour) == noon + 3 * hour, "both"
    assert noon + 3 * hour - day == TimeFolders.last_end(found.layouts[1], noon)  # type: ignore[arg-type]
