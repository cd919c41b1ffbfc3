"""What the chart renders is what Kubernetes knows, field by field."""

from pathlib import Path
from typing import Any

import pytest

from tests.chart import schemas
from tests.chart.checking import complaints
from tests.chart.combinations import COMBINATIONS
from tests.chart.helm import template


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("schemas")
    schemas.write_schemas(made)
    return made


def check(folder: Path, text: str) -> str:
    """Return what kubeconform finds wrong; empty when nothing is."""
    locations = [f"-schema-location={one / schemas.LOCATION}" for one in (folder, schemas.OWN)]
    return complaints("kubeconform", "-strict", "-output=text", *locations, "-", text=text)


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_rendered_objects_are_valid(folder: Path, values: dict[str, Any]) -> None:
    assert check(folder, template(values)) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("minimum: 1", "minimun: 1"),  # of the definition's own schema
        ("enableServiceLinks: false", "enableServiceLink: false"),
        ("periodSeconds: 2", 'periodSeconds: "2"'),
        ("apiVersion: apps/v1", "apiVersion: apps/v2"),
        ("jobLabel:", "jobLabels:"),
    ],
)
def test_the_check_finds_what_is_wrong(folder: Path, right: str, wrong: str) -> None:
    text = template(COMBINATIONS["everything"])
    assert right in text
    assert check(folder, text.replace(right, wrong)) != ""
