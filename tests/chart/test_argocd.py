"""What Argo CD makes of a LogPersister: its health by our Lua script, on documents as the operator writes them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from lupa.lua51 import LuaRuntime  # type: ignore[import-untyped] # Argo CD's interpreter is one of Lua 5.1

from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observed_state import MemberReport, SecretsSeen, StuckPartition
from tests.chart.helm import CHART, documents, render
from tests.unit.kubernetes.samples import CLICKS, Life, failure, lag, report

EXAMPLES = CHART.parents[1] / "examples" / "argocd"
DOCUMENT = (CHART.parents[1] / "docs" / "argocd.md").read_text()
CUSTOMIZATION = EXAMPLES / "resource_customizations" / "logpersister.dev" / "LogPersister"
"""As a folder of Argo CD's repository."""
SCRIPT = (CUSTOMIZATION / "health.lua").read_text()
KEY = "resource.customizations.health.logpersister.dev_LogPersister"


def health(document: Document) -> tuple[str, str]:
    """Run the script as Argo CD does: with ``obj``, without libraries that reach outside."""
    lua = LuaRuntime(unpack_returned_tuples=True)
    for library in ("os", "io", "debug", "package", "require", "dofile", "loadfile"):
        lua.globals()[library] = None
    lua.globals()["obj"] = lua.table_from(document, recursive=True)
    found = lua.execute(SCRIPT)
    return found["status"], found["message"]


def reports(*errors: Document) -> dict[str, MemberReport]:
    return {"clicks-backup-0": report(errors)}


def running(**known: Any) -> Document:
    """Return a resource whose members are ready."""
    life = Life.running()
    life.step(**({"lag": lag(), "reports": reports()} | known))
    return life.resource


def new() -> Document:
    return Life().resource


def starting() -> Document:
    life = Life()
    life.step()
    return life.resource


def changed() -> Document:
    life = Life(running())
    life.change(members=2)
    return life.resource


def replacing() -> Document:
    life = Life.running()
    life.change(output={"text": {"compression": "zstd"}})
    life.step(lag=lag(), reports=reports())
    return life.resource


def without_secret() -> Document:
    life = Life()
    life.step(secrets=SecretsSeen(missing=("Secret s3",)))
    return life.resource


def invalid() -> Document:
    life = Life.running()
    life.step(lag=lag())
    life.change(output={"rcfile": {}})
    life.step(lag=lag())
    return life.resource


def paused() -> Document:
    life = Life()
    life.step()
    life.annotate(**{"logpersister.dev/paused": "true"})
    life.step()
    return life.resource


def unattended() -> Document:
    life = Life(running())
    life.annotate(**{"logpersister.dev/reconcile": "paused"})
    life.step(lag=lag(), reports=reports())
    return life.resource


def failing() -> Document:
    return running(reports=reports(failure()))


def stuck() -> Document:
    return running(lag=lag(500, 90.0, stuck=(StuckPartition(CLICKS, 500, 4000.0),)))


def behind() -> Document:
    return running(lag=lag(500, 9000.0, over_target=("clicks",)))


SCENES: tuple[Callable[[], Document], ...] = (
    *(new, changed, starting, replacing, running, behind),
    *(without_secret, invalid, failing, stuck, paused, unattended),
)
"""What becomes of each is in ``health_test.yaml``."""
READ = ("Ready", "Reconciling", "Stalled", "UploadsSucceeding", "LagWithinTarget", "Paused", "ReconciliationPaused")
"""Conditions that the files keep."""


def test_files_for_argo_are_what_the_operator_writes() -> None:
    files = {f"testdata/{scene.__name__}.yaml": kept(scene()) for scene in SCENES}
    texts = {name: yaml.safe_dump(one, sort_keys=False, width=1000) for name, one in files.items()}
    found = {name: dict(zip(("status", "message"), health(one), strict=True)) for name, one in files.items()}
    tests = [{"healthStatus": one, "inputPath": name} for name, one in found.items()]
    texts["health_test.yaml"] = yaml.safe_dump({"tests": tests}, sort_keys=False, width=1000)
    if os.environ.get("UPDATE_GOLDEN") == "1":
        for name, text in texts.items():
            (CUSTOMIZATION / name).write_text(text)
    there = {str(one.relative_to(CUSTOMIZATION)): one.read_text() for one in CUSTOMIZATION.rglob("*.yaml")}
    assert there == texts, "make golden"


def kept(document: Document) -> Document:
    """Return what the files have of a resource."""
    found = {name: document[name] for name in ("apiVersion", "kind")}
    found["metadata"] = {name: document["metadata"][name] for name in ("name", "namespace", "generation")}
    status = document.get("status")
    if status is not None:
        conditions = [one for one in status["conditions"] if one["type"] in READ]
        found["status"] = {"observedGeneration": status["observedGeneration"], "conditions": conditions}
    return found


def test_the_page_names_the_script_and_its_key() -> None:
    path = CUSTOMIZATION.relative_to(EXAMPLES.parents[1]) / "health.lua"
    assert DOCUMENT.count(str(path)) == 3
    assert f"{KEY}={path}" in DOCUMENT
    assert KEY.replace(".", r"\.") + f"={path}" in DOCUMENT


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
def test_examples_can_be_read_and_are_named_in_the_document(file: Path) -> None:
    for document in documents(file.read_text()):
        assert document["metadata"]["namespace"] == "argocd"
    assert f"examples/argocd/{file.name}" in DOCUMENT


def test_the_operators_application_gives_values_that_the_chart_takes() -> None:
    application = yaml.safe_load((EXAMPLES / "operator.yaml").read_text())
    source = application["spec"]["source"]
    assert (CHART.parents[1] / source["path"]) == CHART
    rendered = render(source["helm"]["valuesObject"], namespace=application["spec"]["destination"]["namespace"])
    assert rendered.environment()["LOGPERSISTER_OPERATOR_IMAGE"] == "registry.example.org/data/logpersister:0.1.0"
