"""kube-score finds nothing critical in what the chart renders, nor in what the operator makes of a resource.

Three of its tests are left out on purpose. Members and operator have no limit of CPU: throttled, the operator would be
late with its Lease, and a member would do the same work more slowly. Images have immutable tags or digests, so nothing
is gained by pulling them each time. NetworkPolicies need a network plug-in that enforces them, so they are off unless
somebody asks for them; here they are on.
"""

from typing import Any

import pytest
import yaml

from tests.chart.checking import complaints
from tests.chart.combinations import COMBINATIONS
from tests.chart.helm import template
from tests.unit.kubernetes.samples import Life, resource

DECIDED_OTHERWISE = ("--ignore-container-cpu-limit", "--ignore-test=container-image-pull-policy")


def check(text: str) -> str:
    """Return what kube-score finds that is critical; empty when nothing is."""
    return complaints("kube-score", "score", *DECIDED_OTHERWISE, "-", text=text)


@pytest.mark.parametrize("values", COMBINATIONS.values(), ids=COMBINATIONS)
def test_rendered_objects_have_no_critical_finding(values: dict[str, Any]) -> None:
    policy = values.get("networkPolicy", {}) | {"enabled": True}
    assert check(template(values | {"networkPolicy": policy})) == ""


@pytest.mark.parametrize("members", [1, 3])
def test_children_of_a_resource_have_no_critical_finding(members: int) -> None:
    plan = Life(resource(members=members, networkPolicy="Restricted", spark={"executors": 2})).step()
    assert check(yaml.safe_dump_all(plan.apply)) == ""


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"),
        ("httpGet: {path: /readyz, port: health}", "httpGet: {path: /healthz, port: health}"),
        ("memory: 512Mi", "cpu: 4"),
        ("kind: NetworkPolicy", "kind: Policy"),
        ("kind: PodDisruptionBudget", "kind: Budget"),
    ],
)
def test_the_check_finds_what_is_wrong(right: str, wrong: str) -> None:
    values = {"replicas": 2, "networkPolicy": {"enabled": True}}
    text = template(values)
    assert right in text
    assert check(text) == ""
    assert check(text.replace(right, wrong)) != ""
