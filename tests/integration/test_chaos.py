"""The short form of ``make chaos``: a few real crashes in each run of the tests."""

import random
from pathlib import Path

import pytest

from tests.chaos.report import Verdict
from tests.chaos.run import run
from tests.chaos.settings import FILES, TEXT, Settings

KILLS = 4


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_promise_is_held_under_crashes(tmp_path: Path) -> None:
    """Another seed each time: the suite is run often, and what it finds is printed with its seed."""
    seed = random.SystemRandom().randrange(1 << 31)
    settings = Settings(seed, kills=KILLS, seconds=0, crews={TEXT.name: 2, FILES.name: 1}, pause=(0.2, 3.0))
    story: list[str] = []

    report = run(settings, tmp_path / "chaos", echo=story.append)

    told = "\n".join([*story, "", report.text(), f"evidence: {tmp_path / 'chaos'}"])
    assert report.verdict is Verdict.HELD, told
    assert report.kills >= KILLS, told
    assert all(numbers["verify"] == "clean" for numbers in report.outputs.values()), told
