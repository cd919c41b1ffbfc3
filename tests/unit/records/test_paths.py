"""Partition paths against a slow reference of one record at a time."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.records.field_times import FIRST_UNUSABLE_MS
from logpersister.records.paths import Assignment, make_layout
from logpersister.records.zones import load_zone
from tests.examples import examples
from tests.unit.records.batches import batch_of

SETTINGS = examples(60)

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",  # changed at one minute past midnight, half-hour offset
    "Australia/Lord_Howe",  # half an hour of daylight saving
    "Asia/Kathmandu",  # 5:30, then 5:45
    "Pacific/Apia",  # left out a whole day
    "Africa/Monrovia",  # 44 minutes and 30 seconds until 1972
    "Africa/Casablanca",  # standard time in Ramadan
    "Europe/Dublin",  # negative daylight saving
    "Antarctica/Troll",  # two hours of it
]
NOW = 1_795_000_000_000
DAY = 86_400_000


def rule(**settings_: Any) -> PartitionRule:
    return PartitionRule(**settings_)


def layout(*granularities: str, timezone: str = "UTC", **settings_: Any) -> Any:
    return make_layout([rule(date={"granularity": g, "timezone": timezone, **settings_}) for g in granularities])


def rows(assignment: Assignment) -> list[str]:
    return [assignment.paths[index] for index in assignment.indices]


def reference(timestamp: int, timezone: str) -> tuple[str, str, str] | None:
    """Return date, hour and minute on the wall, by datetime."""
    if not 0 <= timestamp < FIRST_UNUSABLE_MS:
        return None
    local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp)).astimezone(load_zone(timezone))
    return f"{local:%Y-%m-%d}", f"{local:%H}", f"{local:%M}"


def expected(timestamps: Sequence[int] | npt.NDArray[np.int64], timezone: str) -> list[str]:
    found = [reference(int(timestamp), timezone) or ("unknown",) * 3 for timestamp in timestamps]
    return [f"dt={date}/hr={hour}/min={minute}" for date, hour, minute in found]


any_timestamp = st.one_of(
    st.integers(-2, 10**13),
    st.integers(0, FIRST_UNUSABLE_MS + DAY),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-1, 0, FIRST_UNUSABLE_MS - 1, FIRST_UNUSABLE_MS, 2**63 - 1, -(2**63)]),
)


@SETTINGS
@given(st.lists(any_timestamp, min_size=1, max_size=30), st.sampled_from(ZONES))
@example([69_000_000_000, 62_700_000_000], "Africa/Monrovia")
def test_local_time_is_that_of_datetime_for_any_timestamp(timestamps: list[int], timezone: str) -> None:
    assignment = layout("day", "hour", "minute", timezone=timezone).assign(batch_of(timestamps))
    assert rows(assignment) == expected(timestamps, timezone)


@pytest.mark.parametrize("timezone", ZONES)
@pytest.mark.parametrize("year", [1970, 1972, 1987, 1994, 2011, 2026, 2060])
def test_local_time_is_right_around_every_change_of_the_clocks(timezone: str, year: int) -> None:
    first = int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) * 1000
    changes = _changes(load_zone(timezone), first, first + 366 * DAY)
    around = [change + by for change in changes for by in (-3_600_000, -60_000, -1, 0, 1, 59_999, 60_000, 3_600_000)]
    timestamps = sorted([*around, first, first + 200 * DAY])
    wanted = expected(timestamps, timezone)
    assert rows(layout("day", "hour", "minute", timezone=timezone).assign(batch_of(timestamps))) == wanted
    for timestamp, path in zip(timestamps, wanted, strict=True):  # and in batches that see no change
        assert rows(layout("day", "hour", "minute", timezone=timezone).assign(batch_of([timestamp]))) == [path]


def _changes(zone: ZoneInfo, first: int, last: int) -> list[int]:
    """Return the milliseconds at which the offset changes, to the second."""
    found, step = [], 6 * 3600
    for second in range(first // 1000, last // 1000, step):
        low, high = second, second + step
        if _offset(zone, low) == _offset(zone, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(zone, middle) == _offset(zone, low) else (low, middle)
        found.append(high * 1000)
    return found


def _offset(zone: ZoneInfo, second: int) -> timedelta | None:
    return datetime.fromtimestamp(second, zone).utcoffset()


@pytest.mark.parametrize(
    "timestamps",
    [
        NOW + np.arange(20_000) * 37,
        np.random.default_rng(1).integers(0, 10**13, 5_000),
        np.random.default_rng(2).integers(NOW, NOW + 30 * DAY, 20_000),
        np.where(np.random.default_rng(3).random(20_000) < 0.1, -1, NOW + np.arange(20_000) * 997),
        np.full(1000, -1),
        np.repeat([NOW, NOW - DAY, NOW, 2**63 - 1], 5000),
    ],
    ids=["rising", "random", "month", "gaps", "none", "runs"],
)
@pytest.mark.parametrize("timezone", ["UTC", "America/St_Johns"])
def test_every_way_of_counting_gives_the_same(timestamps: npt.NDArray[np.int64], timezone: str) -> None:
    assignment = layout("day", "hour", "minute", timezone=timezone).assign(batch_of(timestamps))
    assert rows(assignment) == expected(timestamps, timezone)
    assert len(set(assignment.paths)) == len(assignment.paths)
    assert set(assignment.indices.tolist()) == set(range(len(assignment.paths)))
    assert assignment.indices.dtype == np.int32


def test_levels_say_what_the_levels_outside_have_not_said() -> None:
    batch = batch_of([1_795_243_027_000])
    at = {
        ("day",): "dt=2026-11-21",
        ("hour",): "hr=2026-11-21-06",
        ("minute",): "min=2026-11-21-06-37",
        ("day", "hour"): "dt=2026-11-21/hr=06",
        ("day", "minute"): "dt=2026-11-21/min=06-37",
        ("day", "hour", "minute"): "dt=2026-11-21/hr=06/min=37",
        ("hour", "day"): "hr=2026-11-21-06/dt=2026-11-21",
    }
    for granularities, path in at.items():
        assert layout(*granularities).assign(batch).paths == [path]


def test_levels_of_different_time_zones_each_say_all() -> None:
    both = make_layout(
        [
            rule(date={"granularity": "day", "prefix": "utc="}),
            rule(date={"granularity": "hour", "timezone": "Pacific/Auckland", "prefix": ""}),
        ]
    )
    assert both.assign(batch_of([1_795_243_027_000])).paths == ["utc=2026-11-21/2026-11-21-19"]
    assert both.assign(batch_of([-1])).paths == ["utc=unknown/unknown"]


@SETTINGS
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=50), st.integers(1, 2**53))
def test_offsets_are_rounded_down(offsets: list[int], every: int) -> None:
    assignment = make_layout([rule(offset={"every": every})]).assign(batch_of([0] * len(offsets), offsets))
    assert rows(assignment) == [f"offset={offset // every * every}" for offset in offsets]


def test_a_steady_stream_costs_next_to_nothing() -> None:
    """Far above what is measured (1 to 3 ns a record), so that a loaded machine does not fail it; Python takes 1000."""
    batch = batch_of(NOW + np.arange(1_000_000) // 2)
    hourly = layout("day", "hour", timezone="Europe/Berlin")
    hourly.assign(batch)
    begin = time.process_time()
    hourly.assign(batch)
    assert time.process_time() - begin < 0.05
