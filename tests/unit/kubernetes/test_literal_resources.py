"""``${NAME}`` in a resource is text, down to the file that members read and what they make of it."""

import re
from pathlib import Path
from typing import Any

import pytest

from logpersister.cli import context
from logpersister.forms.substitution import SWITCH
from tests.unit.kubernetes.samples import Life, resource

ROOT = Path(__file__).parents[3]
NOTE = "${HOME} $${HOME} ${1}"


def test_members_replace_no_variables(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pod_template = {"metadata": {"annotations": {"note": NOTE}}}
    plan = Life(resource(podTemplate=pod_template, spark={"conf": {"spark.note": NOTE}})).step()
    (config,) = (child for child in plan.apply if child["kind"] == "ConfigMap")
    (workload,) = (child for child in plan.apply if child["kind"] == "StatefulSet")
    template = workload["spec"]["template"]
    assert template["metadata"]["annotations"]["note"] == NOTE
    assert SWITCH not in str(template), "an operator that is upgraded would restart all members for it"

    file = tmp_path / "resource.json"
    file.write_text(config["data"]["resource.json"])
    monkeypatch.setenv(SWITCH, _environment_of_the_image()[SWITCH])
    assert context.manifest(str(file)).spec.spark.conf["spark.note"] == NOTE


def _environment_of_the_image() -> dict[str, str]:
    stage = (ROOT / "Dockerfile").read_text().split(" AS spark-app\n")[1]
    return dict(re.findall(r"^(?:ENV|   ) ([A-Z_]+)=(\S+)", stage, re.MULTILINE))
