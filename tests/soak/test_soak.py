"""What a soak says of its parts, and that it searches where the tests repeat themselves."""

import random
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.examples import SOAK, SOAK_FACTOR, examples
from tests.soak import fuzz
from tests.soak.parts import Command, Part
from tests.soak.soak import Verdict, soak


def ending_with(*codes: int) -> Part:
    def commands(chance: random.Random, seconds: float) -> Iterator[Command]:
        for code in codes:
            yield [sys.executable, "-c", f"import sys; print('seed', {chance.random()}); sys.exit({code})"]

    return Part(f"part {codes}", 0.0, commands)


@pytest.mark.parametrize(
    ("codes", "verdict"),
    [
        ([(0, 0), (0,)], Verdict.HELD),
        ([(0, 1), (0,)], Verdict.BROKEN),
        ([(2,), (0,)], Verdict.TROUBLE),
        ([(5,), (1,)], Verdict.BROKEN),
    ],
)
def test_the_worst_is_told(tmp_path: Path, codes: list[tuple[int, ...]], verdict: Verdict) -> None:
    found, outcomes = soak([ending_with(*each) for each in codes], 7, 60, tmp_path, lambda _: None)
    assert found is verdict
    assert len(outcomes) == len(codes), "one that fails does not stop the others"


def test_every_fuzz_target_is_run() -> None:
    built = tomllib.loads((fuzz.CRATE / "Cargo.toml").read_text())["bin"]
    assert {one["name"] for one in built} == set(fuzz.TARGETS)
    assert {Path(one["path"]).stem for one in built} == {one.stem for one in (fuzz.CRATE / "fuzz_targets").iterdir()}


def test_searches_repeat_themselves_unless_it_is_a_soak() -> None:
    assert hypothesis.settings().derandomize
    assert 2 * examples(150).max_examples == 3 * hypothesis.settings().max_examples
    other = hypothesis.settings.get_profile(SOAK)
    assert not other.derandomize
    assert other.max_examples == SOAK_FACTOR * hypothesis.settings().max_examples
