"""The values: each is explained, each is checked, and a mistake gets a message that one can act on."""

import json
import re
from collections.abc import Iterator
from typing import Any

import chart_readme
import pytest
import yaml

from tests.chart.helm import CHART, HelmError, helm, render

VALUES_TEXT = (CHART / "values.yaml").read_text()
VALUES: dict[str, Any] = yaml.safe_load(VALUES_TEXT)
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())


def test_lint() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


def closed(values: dict[str, Any], schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yield where values and schema name different keys."""
    if "properties" not in schema:
        return
    assert schema["additionalProperties"] is False, path
    if different := values.keys() ^ schema["properties"].keys():
        yield path, different
    for name in values.keys() & schema["properties"].keys():
        if isinstance(values[name], dict):
            yield from closed(values[name], schema["properties"][name], f"{path}.{name}")


def test_the_schema_knows_every_value_and_no_others() -> None:
    schema = {**SCHEMA, "properties": {k: v for k, v in SCHEMA["properties"].items() if k != "global"}}
    assert list(closed(VALUES, schema)) == []


def test_every_value_is_explained() -> None:
    """A comment stands right above each, or above the neighbours that it explains together with it."""
    unexplained, explained = [], False
    for line in VALUES_TEXT.splitlines():
        key = re.match(r"( *)([A-Za-z]+):( .+)?$", line)
        if not line.strip():
            explained = False
        elif line.lstrip().startswith("#"):
            explained = True
        elif key and key[3] and not explained:
            unexplained.append(line)
    assert unexplained == []


def test_the_readme_has_every_value() -> None:
    assert (CHART / "README.md").read_text() == chart_readme.readme(CHART), "run `make golden`"
    paths = {path for path, _, _ in chart_readme.rows(VALUES_TEXT)}
    assert paths >= set(leaves(VALUES))


def leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{name}.")
        else:
            yield f"{path}{name}"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"replicas": "two"}, "at '/replicas': got string, want integer"),
        ({"replica": 2}, "additional properties 'replica' not allowed"),
        ({"namespaces": "logs"}, "at '/namespaces': got string, want array"),
        ({"namespaces": ["Logs"]}, "at '/namespaces/0': 'Logs' does not match pattern"),
        ({"executors": {"enabled": "no"}}, "at '/executors/enabled': got string, want boolean"),
        ({"settings": {"logLevel": "chatty"}}, "value must be one of 'debug', 'info', 'warning', 'error'"),
        ({"settings": {"lagSeconds": 0}}, "at '/settings/lagSeconds': minimum: got 0, want 1"),
        ({"podLabels": {"version": 1.0}}, "at '/podLabels/version': got number, want string"),
        (
            {"memberDefaults": {"imagePullSecrets": ["a"]}},
            "at '/memberDefaults/imagePullSecrets/0': got string, want object",
        ),
        ({"namespaces": ["logs"], "namespaceSelector": "a=b"}, "are both set; set one of them"),
        ({"namespaces": ["logs"], "canaryNamespaceSelector": "a=b"}, "name them in canaryNamespaces"),
        ({"commonLabels": {"app.kubernetes.io/part-of": "x"}}, "commonLabels: the chart itself sets the label app.kub"),
    ],
    ids=str,
)
def test_nonsense_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(HelmError) as caught:
        render(values)
    assert message in str(caught.value)


def test_numbers_and_large_numbers_reach_the_operator_as_they_are() -> None:
    environment = render({"settings": {"lagSeconds": 3600, "secretSeconds": 1.5}}).environment()
    assert environment["LOGPERSISTER_OPERATOR_LAG_SECONDS"] == "3600"
    assert environment["LOGPERSISTER_OPERATOR_SECRET_SECONDS"] == "1.5"
