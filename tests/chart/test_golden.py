"""The whole output for a few sets of values, as files that people read. After a wanted change: ``make golden``."""

import os
import re
from pathlib import Path

import pytest

from tests.chart.combinations import COMBINATIONS
from tests.chart.helm import template

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

_SAID_ELSEWHERE = ("templates/crd.yaml", "templates/dashboard.yaml")


@pytest.mark.parametrize("name", ["default", "everything-in-namespaces"])
def test_output(name: str) -> None:
    parts = re.split(r"^---\n", template(COMBINATIONS[name]), flags=re.MULTILINE)
    text = "---\n".join(part for part in parts if not any(source in part for source in _SAID_ELSEWHERE))
    file = GOLDEN / f"{name}.yaml"
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; see the docstring of this test"
