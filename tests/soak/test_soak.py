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
from tests.soak.soak import Outcome, Verdict, soak


def ending_with(*codes: int) -> Part:
    def commands(chance: random.Random, seconds: float) -> Iterator[Command]:
        for code in codes:
            yield [sys.executable, "-c", f"import sys; print('seed', {chance.random()}); sys.exit({code})"]

    return Part(f"part {codes}", 0.0, commands)


def play(*parts: Part, seed: int = 7, directory: Path) -> tuple[Verdict, list[Outcome], list[str]]:
    told: list[str] = []
    verdict, outcomes = soak(parts, seed, 60, directory, told.append)
    return verdict, outcomes, told


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
    found, outcomes, _ = play(*(ending_with(*each) for each in codes), directory=tmp_path)
    assert found is verdict
    assert len(outcomes) == len(codes), "one that fails does not stop the others"


def test_every_fuzz_target_is_run() -> None:
    built = tomllib.loads((fuzz.CRATE / "Cargo.toml").read_text())["bin"]
    assert {one["name"] for one in built} == set(fuzz.TARGETS)
    assert {Path(one["path"]).stem for one in built} == {one.stem for one in (fuzz.CRATE / "fuzz_targets").iterdir()}


@pytest.mark.parametrize(("code", "verdict"), [(0, Verdict.HELD), (1, Verdict.BROKEN), (77, Verdict.BROKEN)])
def test_what_a_target_finds_breaks_the_promise(
    code: int, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "json"
    target.write_text(f"#!/bin/sh\necho $@ > {tmp_path}/told\nexit {code}\n")
    target.chmod(0o755)
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(fuzz, "built", lambda targets: tmp_path)
    assert fuzz.main(["--only", "json", "--seconds", "7", "--seed", "3"]) == verdict
    told = (tmp_path / "told").read_text().split()
    assert {"-max_total_time=7", "-seed=3"} <= set(told)
    monkeypatch.setattr(fuzz, "built", lambda targets: None)
    assert fuzz.main([]) == Verdict.TROUBLE


def test_searches_repeat_themselves_unless_it_is_a_soak() -> None:
    assert hypothesis.settings().derandomize
    assert 2 * examples(150).max_examples == 3 * hypothesis.settings().max_examples
    other = hypothesis.settings.get_profile(SOAK)
    assert not other.derandomize
    assert other.max_examples == SOAK_FACTOR * hypothesis.settings().max_examples
