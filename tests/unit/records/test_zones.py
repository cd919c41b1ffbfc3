"""Time zones: the rules of the package, and what the fast path takes for granted about them."""

import struct
from importlib import resources
from itertools import pairwise

import pytest

from logpersister.records.zones import SECONDS_PER_DAY, load_zone


@pytest.mark.parametrize("name", ["", "../tzdata", "/etc/localtime", "Europe", "."])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone; write a name of the tz database"):
        load_zone(name)


def test_no_zone_changes_its_offset_twice_in_one_utc_day() -> None:
    """What `day_offsets` rests on. Rules for the far future change months apart, so the listed changes are enough."""
    names = (resources.files("tzdata") / "zones").read_text().split()
    assert len(names) > 400
    for name in names:
        days = [second // SECONDS_PER_DAY for second in _changes_of_offset(name) if second >= 0]
        assert all(earlier < later for earlier, later in pairwise(days)), name


def _changes_of_offset(name: str) -> list[int]:
    """Return the seconds at which the offset of a zone changes, from its file (RFC 8536, the 64-bit block)."""
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    *_, leaps, times, types, letters = _counts(data, 0)
    flags_std, flags_utc = _counts(data, 0)[1], _counts(data, 0)[0]
    second = 44 + times * 5 + types * 6 + letters + leaps * 8 + flags_std + flags_utc
    _, _, _, times, types, _ = _counts(data, second)
    begin = second + 44
    instants = struct.unpack_from(f">{times}q", data, begin)
    kinds = data[begin + 8 * times : begin + 9 * times]
    offsets = [struct.unpack_from(">lBB", data, begin + 9 * times + 6 * kind)[0] for kind in range(types)]
    changes, current = [], offsets[0]
    for instant, kind in zip(instants, kinds, strict=True):
        if offsets[kind] != current:
            changes.append(instant)
        current = offsets[kind]
    return changes


def _counts(data: bytes, at: int) -> tuple[int, ...]:
    """Return the numbers of UT flags, standard flags, leap seconds, times, types, letters."""
    assert data[at : at + 4] == b"TZif"
    return struct.unpack_from(">6l", data, at + 20)
