"""The limits of CI's stages."""

import re

import timed
from logged import ROOT


def test_every_stage_of_ci_has_a_limit() -> None:
    commands = (ROOT / ".ci" / "run").read_text() + (ROOT / "Makefile").read_text()
    assert set(re.findall(r"(?:\$\(TIMED\)|scripts/timed\.py) ([a-z-]+) ", commands)) == set(timed.LIMITS)


def test_the_page_for_contributors_lists_the_stages_and_their_limits() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page.partition("| stage of `.ci/run`, or command |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| ([a-z-]+) \| [^|]* \| ([\d,]+) \|$", table, re.MULTILINE)
    assert {name: int(limit.replace(",", "")) for name, limit in listed} == timed.LIMITS
