"""Which groups are asked about together, and how often."""

import pytest

from logpersister_operator.observe import batching
from logpersister_operator.observe.batching import Due, next_batch, pause

SECONDS = 30.0


def test_who_is_due_takes_along_who_has_waited_for_most_of_its_own_pause() -> None:
    groups = {
        "late": Due(90.0, 84.0),
        "now": Due(100.0, 94.0),
        "soon": Due.after(76.0, SECONDS, 1),
        "later": Due.after(76.5, SECONDS, 1),
        "failed just now": Due.after(99.5, SECONDS / 6, 1),
    }
    assert next_batch(groups, 100.0).keys == ("late", "now", "soon")


def test_a_batch_is_bounded_by_partitions_and_those_that_waited_longest_come_first() -> None:
    groups = {number: Due(100.0 - number, 0.0, batching.MOST_PARTITIONS // 2) for number in range(5)}
    assert next_batch(groups, 100.0).keys == (4, 3)
    huge = {"huge": Due(99.0, 0.0, 10 * batching.MOST_PARTITIONS), "small": Due(100.0, 0.0)}
    assert next_batch(huge, 100.0).keys == ("huge",), "a group is never too large to be asked about"


def test_groups_of_which_nothing_is_known_yet_are_not_all_one_batch() -> None:
    """An operator that has just begun with 500 groups of 200 partitions each asked for 100,000 at once."""
    assert len(next_batch({number: Due(0.0, 0.0) for number in range(500)}, 0.0).keys) == 25


@pytest.mark.parametrize(
    ("asking", "failures", "expected"),
    [
        pytest.param(0.1, 0, 30.0, id="as set while all groups take less than a tenth of the time"),
        pytest.param(6.0, 0, 60.0, id="longer when they take more"),
        pytest.param(600.0, 0, 300.0, id="but not for ever"),
        pytest.param(0.1, 1, 5.0, id="soon again after a failure"),
        pytest.param(0.1, 3, 20.0, id="ever less"),
        pytest.param(0.1, 99, 120.0, id="up to a limit"),
    ],
)
def test_pauses(asking: float, failures: int, expected: float) -> None:
    least = expected / 2 if failures else expected
    assert least <= pause(SECONDS, asking, failures) <= expected
