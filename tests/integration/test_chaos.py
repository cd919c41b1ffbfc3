"""The short form of ``make chaos``: a few real crashes in each run of the tests, always the same ones."""

import warnings
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from tests.chaos.choices import Choices
from tests.chaos.deck import deal
from tests.chaos.outputs import ROWS, TABLE, TEXT
from tests.chaos.report import Report, Verdict
from tests.chaos.run import run
from tests.chaos.settings import Settings

CREWS = {TEXT.name: 2, ROWS.name: 1, TABLE.name: 1}
KILLS = 3
SEED = 27294
"""Deals, in the first nine cards, all three kinds of kill, a broker that stops, a schema that evolves, a replay of
quarantine that is killed, and answers of bucket and catalog that are lost. Others are played by ``make soak``, which
also has the group with sequence files."""
CARDS = Counter(
    {
        "broker-stop": 1,
        "schema-evolves": 1,
        "s3-lose-response": 1,
        "kill-driver": 1,
        "replay-killed": 1,
        "s3-503": 1,
        "catalog-lose-response": 1,
        "kill-tree": 1,
        "kill-jvm": 1,
    }
)
CHOICES = Choices(late="folder")
"""The seed would choose other tables, whose servers start for this test only."""
MOST_PLAYS = 3
"""When the harness has trouble, nothing is proven in either way: it is played again, with another seed."""


class HarnessWarning(UserWarning):
    """Shown in pytest's summary; it is about the harness, not about what it tests."""


def settings(seed: int) -> Settings:
    return Settings(seed, kills=KILLS, seconds=0, crews=CREWS, choices=CHOICES, brokers=1, pause=(0.2, 3.0))


def play(evidence: Path, story: list[str], seed: int) -> Report:
    report = run(settings(seed), evidence, echo=story.append)
    story += ["", report.text(), f"evidence: {evidence}"]
    return report


def test_the_seed_deals_what_it_was_chosen_for() -> None:
    assert Counter(disturbance.name for _, disturbance in islice(deal(settings(SEED)), CARDS.total())) == CARDS


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.filterwarnings("default::tests.integration.test_chaos.HarnessWarning")
def test_the_promise_is_held_under_crashes(tmp_path: Path) -> None:
    story: list[str] = []
    report = play(tmp_path / "chaos-1", story, SEED)
    for number in range(2, MOST_PLAYS + 1):
        if report.verdict is Verdict.TROUBLE:
            warnings.warn(f"played again: {report.text()}", HarnessWarning, stacklevel=1)
            report = play(tmp_path / f"chaos-{number}", story, SEED + number)

    told = "\n".join(story)
    assert report.verdict is Verdict.HELD, told
    assert report.kills >= KILLS, told
    assert all(numbers["verify"] == "clean" for numbers in report.outputs.values()), told
