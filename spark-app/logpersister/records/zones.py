"""Time zones whose rules come with the program, not with the machine.

A record must get the same partition path on every machine and at every attempt (docs/design/objects.md), but hosts
differ in their zone files. So the rules are always those of the pinned ``tzdata`` package, and this module alone
loads them.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from importlib import resources
from io import BytesIO
from zoneinfo import ZoneInfo

SECONDS_PER_DAY = 86_400

WITHOUT_RULES = frozenset({"UTC", "Etc/UTC"})
"""Zones that no edition of the database can change."""


@lru_cache(maxsize=64)
def load_zone(name: str) -> ZoneInfo:
    """Return the zone `name` of the tz database, for example ``Europe/Berlin``.

    Raises ValueError when there is none of this name.
    """
    problem = f"{name!r} is not a time zone; write a name of the tz database, for example Europe/Berlin"
    parts = name.split("/")
    if not name or any(not part or part.startswith(".") or "\\" in part for part in parts):
        raise ValueError(problem)
    try:
        return ZoneInfo.from_file(BytesIO(_file(parts)), key=name)
    except (OSError, ValueError) as error:
        raise ValueError(problem) from error


@lru_cache(maxsize=64)
def zone_rules(name: str) -> str:
    """Return a digest of the rules of the zone `name` (which there is): other rules, another digest."""
    return hashlib.sha256(_file(name.split("/"))).hexdigest()[:12]


def _file(parts: Sequence[str]) -> bytes:
    return resources.files("tzdata").joinpath("zoneinfo", *parts).read_bytes()


def offset_at(zone: ZoneInfo, second: int) -> int:
    """Return the seconds that local time in `zone` is ahead of UTC at `second` since the epoch."""
    offset = datetime.fromtimestamp(second, UTC).astimezone(zone).utcoffset()
    assert offset is not None, "a ZoneInfo always knows its offset"
    return offset.days * SECONDS_PER_DAY + offset.seconds


@lru_cache(maxsize=65_536)
def day_offsets(name: str, day: int) -> tuple[int, int, int]:
    """Return how far the zone `name` is ahead of UTC during one UTC day (days since the epoch).

    ``(before, change, after)``: `before` seconds until the second `change` since the epoch, `after` seconds from then
    on. On a day without a change of the offset, `change` is the end of the day and both are the same. No zone
    changes its offset twice in one UTC day since 1970; a test looks through the whole database for that.
    """
    zone = load_zone(name)
    start, end = day * SECONDS_PER_DAY, (day + 1) * SECONDS_PER_DAY
    before, after = offset_at(zone, start), offset_at(zone, end - 1)
    if before == after:
        return before, end, after
    low, high = start, end - 1  # the offset is `before` at low and `after` at high
    while high - low > 1:
        middle = (low + high) // 2
        if offset_at(zone, middle) == before:
            low = middle
        else:
            high = middle
    return before, high, after
