"""Sizes and durations: every notation, and one text for each value."""

import re
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.forms.problems import RefusedError
from logpersister.forms.quantity import (
    DURATION_PATTERN,
    SIZE_PATTERN,
    Share,
    format_duration,
    format_share,
    format_size,
    parse_duration,
    parse_share,
    parse_size,
)
from tests.examples import examples


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        (5, 5),
        ("100k", 100_000),
        ("1G", 10**9),
        ("256Mi", 256 * 2**20),
        ("7Ei", 7 * 2**60),
    ],
)
def test_sizes(text: str | int, size: int) -> None:
    assert parse_size(text) == size
    assert re.fullmatch(SIZE_PATTERN, str(text))


NO_SIZES = ["Mi", "-1", "+1", "1mi", "1MiB", "1kb", "1K", "1m", "1.", ".5", "1,5Mi", "\u0661Mi", "1e6", "1.5Gi"]


@pytest.mark.parametrize("text", [*NO_SIZES, "", "1 Mi", "9" * 19, " 5Mi", "5Mi\n", 5.0, None])
def test_not_sizes(text: object) -> None:
    with pytest.raises(RefusedError, match="is not a size"):
        parse_size(text)


@examples(200)
@given(
    st.integers(0, 10**18 - 1)
    | st.integers(0, 2**20).map(lambda n: n * 2**20)
    | st.integers(0, 10**6).map(lambda n: n * 1000)
)
def test_a_size_has_one_text_that_means_it(size: int) -> None:
    assert parse_size(format_size(size)) == size
    assert format_size(parse_size(format_size(size))) == format_size(size)
    assert re.fullmatch(SIZE_PATTERN, format_size(size))


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0s", timedelta(0)),
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5h", timedelta(minutes=90)),
        ("1m500ms", timedelta(minutes=1, milliseconds=500)),
        ("1d12h", timedelta(hours=36)),
        ("0.001h", timedelta(milliseconds=3600)),
    ],
)
def test_durations(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration
    assert re.fullmatch(DURATION_PATTERN, text)


NO_DURATIONS = ["15", "m", "1.5d", "0.5ms", "1.0001s", "-5s", "1y", "5us", "30m1h", "1m1m", "1.s", "\u0663s", "PT15M"]


@pytest.mark.parametrize("text", [*NO_DURATIONS, "", "15 m", " 15m", "15m\n", "1h 30m", 15, None, True])
def test_not_durations(text: object) -> None:
    with pytest.raises(RefusedError, match="is not a duration"):
        parse_duration(text)


@examples(200)
@given(st.integers(0, 3650 * 86_400_000).map(lambda milliseconds: timedelta(milliseconds=milliseconds)))
def test_a_duration_has_one_text_that_means_it(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration
    assert re.fullmatch(DURATION_PATTERN, format_duration(duration))


@pytest.mark.parametrize(
    ("written", "total", "members"),
    [(1, 3, 1), (5, 3, 3), ("1%", 3, 1), ("50%", 3, 2), ("34%", 3, 2), ("33%", 3, 1), ("100%", 3, 3), ("100%", 1, 1)],
)
def test_shares(written: str | int, total: int, members: int) -> None:
    share = parse_share(written)
    assert share.of(total) == members
    assert format_share(share) == written
    assert share == Share(int(str(written).rstrip("%")), is_percentage=isinstance(written, str))
