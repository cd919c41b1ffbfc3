"""Items that are the same, whatever Python thinks of NaN."""

from decimal import Decimal
from math import inf, nan

import pytest

from logpersister.verify.comparison import same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, nan), (1, float("nan"))),
        ([({"a": nan}, [("k", nan)])], [({"a": -nan}, [("k", nan)])]),
        ((nan, Decimal("0.00")), (nan, Decimal(0))),
    ],
)
def test_numbers_that_are_none_are_the_same(one: object, other: object) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((nan,), (inf,)),
        ((nan, 1), (nan, 2)),
        ({"a": nan}, {"b": nan}),
    ],
)
def test_others_are_not(one: object, other: object) -> None:
    assert not same(one, other)
    assert not same(other, one)
