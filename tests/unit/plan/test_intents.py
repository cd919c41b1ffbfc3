from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.plan.intents import (
    MAX_RANGES,
    CommittedOffset,
    Intent,
    OffsetMetadata,
    UnknownMetadataError,
    UnstoredPrefix,
    parse,
    promised,
    stored,
)
from logpersister.ranges import NewestEvent, TopicPartition

CLICKS = TopicPartition("clicks", 3)
TOPIC_ID = "ZxK8mF4QTrCwFq1p0p0wNg"

ends = st.lists(st.integers(1, 10**6), min_size=1, max_size=MAX_RANGES).map(
    lambda steps: tuple(100 + sum(steps[: index + 1]) for index in range(len(steps)))
)


unstored_prefixes = st.sampled_from([UnstoredPrefix(101, "lost"), UnstoredPrefix(101, "skipped"), None])


@given(
    ends,
    st.sampled_from([TOPIC_ID, None]),
    st.sampled_from(["logs/", "logs/raw/dt=1", None]),
    unstored_prefixes,
    st.sampled_from([None, 0, 1_774_659_600_000]),
)
def test_an_intent_survives_kafka(
    ends: tuple[int, ...], topic_id: str | None, place: str | None, unstored: UnstoredPrefix | None, horizon: int | None
) -> None:
    intent = Intent(CLICKS, topic_id, 100, ends, "0123456789ab", 7, place, unstored, horizon)
    commit = promised(intent)
    assert parse(commit.offset, commit.text).intent(CLICKS) == intent


def test_the_largest_intent_fits_into_the_metadata_of_a_broker_with_defaults() -> None:
    ends = tuple(2**62 + index for index in range(MAX_RANGES))
    place = f"{'b' * 63}/{'p' * 400}"
    skipped = UnstoredPrefix(2**62, "skipped")
    intent = Intent(CLICKS, TOPIC_ID, 2**62 - 1, ends, "0123456789ab", 2**31 - 1, place, skipped, 10**15)
    assert len(promised(intent, 2**62, NewestEvent("f" * 8, 10**15 - 1)).text) <= 4096


SEEN = NewestEvent("0a1b2c3d", 1_774_659_600_000)


def test_the_newest_event_stands_beside_the_offset() -> None:
    promise = promised(Intent(CLICKS, TOPIC_ID, 100, (110,), "ab", 1, "logs/raw"), 80, SEEN)
    assert ";since=80;seen=0a1b2c3d:1774659600000;at=logs/raw;ends=110" in promise.text
    assert parse(100, promise.text) == promise
    end = stored(110, TOPIC_ID, 1, seen=SEEN)
    assert parse(110, end.text) == end


@pytest.mark.parametrize("text", ["", "0a1b2c3d:-1", "0a1b2c3d:9999999999999999"])
def test_a_newest_event_that_cannot_be_read_says_nothing(text: str) -> None:
    """No record depends on it, so it is no reason to hold a partition."""
    assert parse(5, f"lp1;o=5;topic=-;gen=1;seen={text}") == CommittedOffset(5, OffsetMetadata(None, 1))


def test_the_horizon_is_one_of_the_promise() -> None:
    """It stands there as long as there are ranges to be executed by it."""
    intent = Intent(CLICKS, TOPIC_ID, 100, (110, 120), "ab", 1, "logs/raw", horizon=1_774_659_600_000)
    assert ";at=logs/raw;horizon=1774659600000;ends=110,120" in promised(intent).text
    left = intent.after(110)
    assert left is not None
    assert left.horizon == intent.horizon
    assert "horizon" not in replace(promised(intent), metadata=OffsetMetadata(TOPIC_ID, 1, horizon=5)).text
    assert parse(5, "lp1;o=5;topic=-;gen=1;horizon=7").metadata == OffsetMetadata(None, 1), "nothing is promised"


def test_a_stored_end_has_no_intent() -> None:
    commit = stored(500, TOPIC_ID, 2, revision="0123456789ab", since=300)
    assert commit.text == f"lp1;o=500;topic={TOPIC_ID};gen=2;rev=0123456789ab;since=300"
    assert parse(500, commit.text) == commit
    assert commit.intent(CLICKS) is None


def test_marks_of_older_and_of_newer_releases_are_read() -> None:
    assert parse(500, f"lp1;topic={TOPIC_ID};gen=2") == CommittedOffset(500, OffsetMetadata(TOPIC_ID, 2))
    assert parse(5, "lp1;topic=-;gen=1;rev=ab;ends=9") == CommittedOffset(5, OffsetMetadata(None, 1, "ab", (9,)))
    placed = "lp1;topic=-;gen=1;rev=ab;at=logs/a=b/c;ends=9"
    assert parse(5, placed) == CommittedOffset(5, OffsetMetadata(None, 1, "ab", (9,), place="logs/a=b/c"))
    newer = "lp1;topic=-;gen=1;rev=ab;since=3;mood=good;ends=9"
    assert parse(5, newer) == CommittedOffset(5, OffsetMetadata(None, 1, "ab", (9,), since=3))


def test_metadata_says_nothing_beside_another_offset() -> None:
    """Tools that set offsets may keep the metadata of the old ones."""
    promise = promised(Intent(CLICKS, TOPIC_ID, 100, (110, 120), "ab", 1))
    assert parse(100, promise.text) == promise
    assert parse(105, promise.text) == CommittedOffset(105, None)
    assert parse(500, "lp1;o=400;topic=-;gen=1") == CommittedOffset(500, None)


@pytest.mark.parametrize("metadata", ["", "aiven-replicator", "lp", "lpx1;topic=-", "something;ends=1"])
def test_other_peoples_metadata_is_not_ours(metadata: str) -> None:
    assert parse(5, metadata) == CommittedOffset(5, None)


@pytest.mark.parametrize(
    "metadata",
    [
        "lp2;topic=-;gen=1",
        "lp1;gen=1",
        "lp1;topic=-;gen=x",
        "lp1;topic=-;gen=1;ends=9,8;rev=ab",
        "lp1;topic=-;gen=1;ends=9",
        "lp1;nonsense",
        "lp1;o=x;topic=-;gen=1",
        "lp1;topic=-;gen=1;rev=ab;lost=4;ends=9",
        "lp1;topic=-;gen=1;rev=ab;horizon=-1;ends=9",
    ],
)
def test_ours_but_unreadable_is_never_taken_for_somebody_elses(metadata: str) -> None:
    with pytest.raises(UnknownMetadataError):
        parse(5, metadata)


def test_what_is_left_of_an_intent_has_what_is_left_of_its_gap() -> None:
    intent = Intent(CLICKS, TOPIC_ID, 0, (10, 25, 30), "ab", 1, unstored=UnstoredPrefix(20, "lost"))
    left = intent.after(10)
    assert left is not None
    assert left.unstored == UnstoredPrefix(20, "lost")
    last = left.after(25)
    assert last is not None
    assert last.unstored is None


@pytest.mark.parametrize("ends", [(), (5,), (20, 20), (30, 20), tuple(range(11, 12 + MAX_RANGES))])
def test_an_intent_needs_rising_ends(ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rising ends"):
        Intent(CLICKS, TOPIC_ID, 10, ends, "ab", 1)
