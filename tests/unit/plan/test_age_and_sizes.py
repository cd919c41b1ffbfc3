import pytest

from logpersister.plan.age import AgeWatch
from logpersister.plan.sizes import UNKNOWN_BYTES_PER_OFFSET, Sizes
from logpersister.ranges import TopicPartition

CLICKS = TopicPartition("clicks", 0)


def test_age_counts_from_the_first_sight_when_the_timestamp_lies_in_the_future() -> None:
    ages = AgeWatch()
    ages.observe(CLICKS, 5, 10, now=100.0)
    assert ages.unasked() == [CLICKS]
    ages.learn(CLICKS, 9_999.0)
    assert ages.unasked() == []
    assert not ages.aged(CLICKS, 60, now=159.0)
    assert ages.aged(CLICKS, 60, now=160.0)


def test_age_counts_from_the_timestamp_when_the_member_came_later() -> None:
    ages = AgeWatch()
    ages.observe(CLICKS, 5, 10, now=100.0)
    ages.learn(CLICKS, 20.0)
    assert ages.aged(CLICKS, 60, now=100.0)


def test_a_new_position_is_a_new_age_and_more_records_are_not() -> None:
    ages = AgeWatch()
    ages.observe(CLICKS, 5, 10, now=100.0)
    ages.observe(CLICKS, 5, 20, now=150.0)
    assert ages.oldest(CLICKS) == 100.0
    ages.observe(CLICKS, 10, 20, now=150.0)
    assert ages.oldest(CLICKS) == 150.0
    ages.observe(CLICKS, 20, 20, now=160.0)
    assert ages.oldest(CLICKS) is None


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


def test_a_range_without_records_teaches_nothing() -> None:
    sizes = Sizes()
    sizes.learn("t", offsets=1000, stored_bytes=0, half_life_bytes=1)
    assert not sizes.knows("t")
