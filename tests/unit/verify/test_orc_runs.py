"""Runs of numbers in ORC: the examples of its specification, and what cannot be a run."""

from itertools import islice

import pytest

from logpersister.verify.orc_runs import bits, integers, octets, variable
from logpersister.verify.streams import ByteStream, ContentError


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("0a 27 10", [10_000] * 5),
        ("5e 03 5c a1 ab 1e de ad be ef", [23_713, 43_806, 57_005, 48_879]),
        (
            "8e 13 2b 21 07 d0 1e 00 14 70 28 32 3c 46 50 5a 64 6e 78 82 8c 96 a0 aa b4 be fc e8",
            [2030, 2000, 2020, 1_000_000, *range(2040, 2200, 10)],
        ),
        ("c6 09 02 02 22 42 42 46", [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]),
    ],
    ids=["repeated", "direct", "patched", "by-difference"],
)
def test_examples_of_the_specification(content: str, expected: list[int]) -> None:
    found = integers(ByteStream([bytes.fromhex(content)]), signed=False)
    assert list(islice(found, len(expected))) == expected
    with pytest.raises(ContentError, match="cut off"):
        next(found)


def test_octets_and_bits() -> None:
    assert list(islice(octets(ByteStream([bytes.fromhex("61 00 fe 44 45")])), 102)) == [0] * 100 + [0x44, 0x45]
    assert list(islice(bits(ByteStream([b"\xff\x80"])), 8)) == [True] + [False] * 7


@pytest.mark.parametrize(("content", "expected"), [("00", 0), ("01", -1), ("80 01", 64), ("81 01", -65)])
def test_variable_integers(content: str, expected: int) -> None:
    assert variable(ByteStream([bytes.fromhex(content)])) == expected


def test_what_is_no_run() -> None:
    with pytest.raises(ContentError, match="has no end"):
        variable(ByteStream([b"\xff" * 30]))
    with pytest.raises(ContentError, match="patch behind its run"):
        list(islice(integers(ByteStream([bytes.fromhex("8e 00 2b e1 07 d0 00 ff ff ff ff")]), signed=False), 1))
