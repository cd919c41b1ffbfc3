"""``${NAME}`` in a resource is text, down to the file that members read and what they make of it."""

from typing import Any

import pytest

from logpersister.cli import context
from logpersister.manifest.substitution import SWITCH
from tests.unit.kubernetes.samples import Life, resource

NOTE = "${HOME} $${HOME} ${1}"


def test_members_replace_no_variables(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pod_template = {"metadata": {"annotations": {"note": NOTE}}}
    plan = Life(resource(podTemplate=pod_template, spark={"conf": {"spark.note": NOTE}})).step()
    (config,) = (child for child in plan.apply if child["kind"] == "ConfigMap")
    (workload,) = (child for child in plan.apply if child["kind"] == "StatefulSet")
    template = workload["spec"]["template"]
    assert template["metadata"]["annotations"]["note"] == NOTE
    (member,) = template["spec"]["containers"]
    environment = {one["name"]: one.get("value") for one in member["env"]}

    file = tmp_path / "resource.json"
    file.write_text(config["data"]["resource.json"])
    monkeypatch.setenv(SWITCH, environment[SWITCH])
    assert context.manifest(str(file)).spec.spark.conf["spark.note"] == NOTE
