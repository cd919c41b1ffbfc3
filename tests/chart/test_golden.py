"""What the chart renders: by default as a file that people read (after a wanted change: ``make golden``).

Everything else that can be set is rendered here, too: no value may be left behind on its way. What it becomes has tests
of its own: rights, documents, schemas of Kubernetes.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chart.combinations import COMBINATIONS
from tests.chart.helm import template

DEFAULT = Path(__file__).parent / "golden" / "default.yaml"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

_SAID_ELSEWHERE = ("templates/crd.yaml", "templates/dashboard.yaml")


def test_the_default_output() -> None:
    parts = re.split(r"^---\n", template(COMBINATIONS["default"]), flags=re.MULTILINE)
    text = "---\n".join(part for part in parts if not any(source in part for source in _SAID_ELSEWHERE))
    if UPDATE:
        DEFAULT.write_text(text)
        pytest.skip(f"{DEFAULT.name} is written anew, and compared with nothing")
    assert text == DEFAULT.read_text(), f"{DEFAULT.name} differs; see the docstring of this module"


@pytest.mark.parametrize("name", ["monitored", "everything", "everything-in-namespaces"])
def test_every_text_that_is_set_is_rendered(name: str) -> None:
    rendered = template(COMBINATIONS[name])
    assert [text for text in _texts(COMBINATIONS[name]) if text not in rendered] == []


def _texts(value: Any) -> Iterator[str]:
    """Yield names and texts of users: of what is in a list or in a mapping without a schema, keys too."""
    match value:
        case dict():
            for key, inner in value.items():
                if re.search("[/.]", key):
                    yield key
                yield from _texts(inner)
        case list():
            for inner in value:
                yield from _texts(inner)
        case str():
            yield value
