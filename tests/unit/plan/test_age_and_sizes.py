import pytest

from logpersister.plan.age import GRAINS, MOST_MARKS, AgeWatch
from logpersister.plan.sizes import UNKNOWN_BYTES_PER_OFFSET, Sizes
from logpersister.ranges import TopicPartition

CLICKS = TopicPartition("clicks", 0)


def test_age_counts_from_the_first_sight_when_the_timestamp_lies_in_the_future() -> None:
    ages = AgeWatch()
    ages.observe(CLICKS, 5, 10, 100.0, 60)
    assert ages.unasked() == [CLICKS]
    ages.learn(CLICKS, 9_999.0)
    assert ages.unasked() == []
    assert not ages.aged(CLICKS, 60, now=159.0)
    assert ages.aged(CLICKS, 60, now=160.0)


def test_age_counts_from_the_timestamp_when_the_member_came_later() -> None:
    ages = AgeWatch()
    ages.observe(CLICKS, 5, 10, 100.0, 60)
    ages.learn(CLICKS, 20.0)
    assert ages.aged(CLICKS, 60, now=100.0)
    ages.observe(CLICKS, 7, 12, 110.0, 60)
    assert ages.unasked() == [CLICKS], "still of what was there"
    assert ages.oldest(CLICKS) == 100.0
    ages.observe(CLICKS, 10, 12, 120.0, 60)
    assert (ages.unasked(), ages.oldest(CLICKS)) == ([], 110.0), "what came later waits since it was seen"


def test_records_that_come_with_old_timestamps_wait_since_they_came() -> None:
    """One a second and thirty days old, a cycle of five seconds and an age of two minutes: two objects in 180 s."""
    ages, position, objects = AgeWatch(), 0, 0
    for now in range(0, 181, 5):
        ages.observe(CLICKS, position, now, float(now), 120)
        for partition in ages.unasked():
            ages.learn(partition, now - 30 * 86_400.0)
        if ages.aged(CLICKS, 120, float(now)):
            position, objects = now, objects + 1
    assert objects == 1
    oldest = ages.oldest(CLICKS)
    assert oldest is not None
    assert position <= oldest <= position + 5


@pytest.mark.parametrize("seconds", [600, 100_000])
def test_when_a_record_came_is_never_told_too_late_and_hardly_too_early(seconds: int) -> None:
    """Also of a member that stores nothing for very long, in bounded memory."""
    ages = AgeWatch()
    for now in range(0, seconds, 5):
        ages.observe(CLICKS, 0, now, float(now), 600)
    arrivals = ages._watches[CLICKS].arrivals
    assert len(arrivals._marks) <= MOST_MARKS
    for position in range(0, seconds - 10, 7):
        ages.observe(CLICKS, position, seconds - 5, float(seconds), 600)
        oldest = ages.oldest(CLICKS)
        came = (position // 5 + 1) * 5
        assert oldest is not None
        assert came - max(600 / GRAINS, (seconds - came) / 4) - 5 <= oldest <= came


def test_sizes_follow_large_objects_and_ignore_a_trickle() -> None:
    sizes = Sizes()
    assert sizes.bytes_per_offset("t") == UNKNOWN_BYTES_PER_OFFSET
    mebibyte = 1 << 20
    sizes.learn("t", offsets=10_000, stored_bytes=mebibyte, half_life_bytes=mebibyte)
    before = sizes.bytes_per_offset("t")
    sizes.learn("t", offsets=1, stored_bytes=500, half_life_bytes=mebibyte)
    assert sizes.bytes_per_offset("t") == pytest.approx(before, rel=0.01)
    for _ in range(5):
        sizes.learn("t", offsets=20_000, stored_bytes=mebibyte, half_life_bytes=mebibyte)
    assert sizes.bytes_per_offset("t") == pytest.approx(mebibyte / 20_000, rel=0.05)
