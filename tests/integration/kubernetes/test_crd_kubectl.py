"""What people see of it: kubectl applies, compares, prints and explains."""

import json
import re
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from definitions.kinds import LOGPERSISTERS as DEFINITION

from logpersister_operator.crd.status import Condition, Status, Summary
from logpersister_operator.crd.status_records import Uploads
from tests.integration.kubernetes.judge import COLLECTION
from tests.stack import artifacts
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.kubernetes.client import Document
from tests.unit.collectors.samples import collector
from tests.unit.manifest.documents import DOCUMENT, changed
from tests.unit.manifest.rich import RICH

pytestmark = pytest.mark.usefixtures("crd")

EXAMPLES = [
    file
    for file in sorted((Path(__file__).parents[3] / "examples").glob("*.yaml"))
    if "kind: LogPersister" in file.read_text()
]
Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def kubectl(api_server: ApiServer, namespace: str) -> Kubectl:
    """``kubectl("get", "lp")`` in the namespace of the test."""
    cache = f"--cache-dir={api_server.kubeconfig.with_name('kubectl')}"  # what the API server serves is asked once
    program = [str(artifacts.go_program("kubectl")), f"--kubeconfig={api_server.kubeconfig}", cache]

    def run(*arguments: str, document: Any = None) -> "subprocess.CompletedProcess[str]":
        command = [*program, f"--namespace={namespace}", *arguments]
        text = None if document is None else json.dumps(document)
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    return run


def _with_names_of_their_own() -> list[list[Path]]:
    """Return the examples in as few parts as their names allow: kubectl takes all of a part at once."""
    parts: list[dict[str, Path]] = []
    for example in EXAMPLES:
        name = yaml.safe_load(example.read_text())["metadata"]["name"]
        if all(name in part for part in parts):
            parts.append({})
        next(part for part in parts if name not in part)[name] = example
    return [list(part.values()) for part in parts]


@pytest.mark.parametrize("examples", _with_names_of_their_own(), ids=lambda examples: f"{len(examples)} files")
def test_examples_are_applied_as_they_are(kubectl: Kubectl, examples: list[Path], tmp_path: Path) -> None:
    for example in examples:
        (tmp_path / example.name).write_text(re.sub(r"(?m)^  namespace: .*\n", "", example.read_text()))
    applied = kubectl("apply", "-f", str(tmp_path))
    assert applied.returncode == 0, applied.stderr
    assert _what_became(applied.stdout) == ["created"] * len(examples), applied.stdout
    again = kubectl("apply", "-f", str(tmp_path)).stdout
    assert _what_became(again) == ["unchanged"] * len(examples), again
    compared = kubectl("diff", "-f", str(tmp_path))
    assert (compared.returncode, compared.stdout) == (0, "")


def _what_became(said: str) -> list[str]:
    return [line.rpartition(" ")[2] for line in said.splitlines()]


@pytest.mark.parametrize("document", [DOCUMENT, *RICH], ids=lambda document: document["metadata"]["name"])
def test_what_is_stored_is_what_was_written(api: Client, namespace: str, document: dict[str, Any]) -> None:
    """Nothing is added: whoever compares with Git finds no difference, and applies again without a new version."""
    path = f"{COLLECTION.format(namespace)}/{document['metadata']['name']}"
    stored = api.apply(path, document)
    assert stored["spec"] == document["spec"]
    again = api.apply(path, document)
    assert again["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


def test_what_is_printed(kubectl: Kubectl, api: Client, namespace: str) -> None:
    path = COLLECTION.format(namespace)
    stored = api.create(path, DOCUMENT)
    now = datetime(2026, 11, 21, tzinfo=UTC)
    status = Status(
        observed_generation=1,
        generation=3,
        revision="0123456789ab",
        conditions=(
            Condition(type="Ready", status="True", reason="Because", message="a", last_transition_time=now),
            Condition(
                type="UploadsSucceeding", status="False", reason="Because", message="a", last_transition_time=now
            ),
        ),
        uploads=Uploads(objects=1, bytes=2, failures=7, failures_last_hour=0),
        summary=Summary(members="2/3", lag="1200", lag_age="42s", uploaded="1.2GiB", state="Storing records"),
    )
    document = stored | {"status": status.model_dump(mode="json", by_alias=True, exclude_none=True)}
    api.replace(f"{path}/clicks-backup/status", document)
    head, row = kubectl("get", "lp").stdout.splitlines()
    assert re.split(r"  +", head.strip()) == (
        ["NAME", "READY", "STORING", "GEN", "MEMBERS", "LAG", "LAG AGE", "UPLOADED", "FAILURES", "STATE", "AGE"]
    )
    assert row.split()[:-1] == (
        ["clicks-backup", "True", "False", "3", "2/3", "1200", "42s", "1.2GiB", "7", "Storing", "records"]
    )
    wide = kubectl("get", "logpersister", "--output=wide").stdout
    assert "Storing records" in wide
    assert "0123456789ab" in wide
    assert kubectl("get", "logpersister", "clicks-backup").returncode == 0


def test_a_status_as_full_as_it_can_be_is_taken(api: Client, namespace: str) -> None:
    """Nothing that the operator's model can hold is refused by the definition."""
    path = COLLECTION.format(namespace)
    stored = api.create(path, DOCUMENT)
    status = full_status()
    assert Status.model_validate(status).model_dump(mode="json", by_alias=True) == status, "it has every field"
    answer = api.replace(f"{path}/clicks-backup/status", stored | {"status": status})
    assert answer["status"] == status


def full_status() -> dict[str, Any]:
    version = DEFINITION.document()["spec"]["versions"][0]
    document: dict[str, Any] = _fullest(version["schema"]["openAPIV3Schema"]["properties"]["status"])
    return document


def _fullest(schema: Document, name: str = "", number: int = 0) -> Any:
    """Return a value with all fields, and with texts and lists as long as they may be; entries differ by a number."""
    if "enum" in schema:
        return schema["enum"][-1]
    if schema["type"] == "object":
        return {below: _fullest(of, below, number) for below, of in schema["properties"].items()}
    if schema["type"] == "array":
        return [_fullest(schema["items"], name, one) for one in range(schema["maxItems"])]
    if schema["type"] == "string":
        longest = f"{name}{number}".ljust(schema.get("maxLength", 100), "x")
        return longest if schema.get("format") != "date-time" else "2026-11-21T12:00:00Z"
    return True if schema["type"] == "boolean" else 2**62 - number


def test_a_mistake_is_told_in_words(kubectl: Kubectl) -> None:
    said = kubectl(
        "create", "-f", "-", document=changed({"spec.upload": {"maxAge": "1 hour", "maxBytes": "1Ki"}})
    ).stderr
    assert "is not a duration within 1s to 30d; write for example 15m or 1h30m" in said
    assert "is not a size within 64Ki to 5Ti; write for example 256Mi" in said
    said = kubectl("create", "-f", "-", document=changed({"spec.value": {"json": {}, "avro": {}}})).stderr
    assert "needs exactly one of bytes, json, avro, protobuf, thrift, messagepack, csv and regex" in said


def test_a_typo_is_refused_wherever_it_stands(kubectl: Kubectl) -> None:
    """That each field has a type, so that none is let through, is in tests/unit/crd/test_definition.py."""
    of_type = {"header": "h", "entries": [{"names": ["a"], "value": {"json": {"feilds": []}}}]}
    said = kubectl("apply", "-f", "-", document=changed({"spec.memebrs": 2, "spec.types": of_type}))
    assert said.returncode != 0
    for path in ("spec.memebrs", "spec.types.entries[0].value.json.feilds"):
        assert f'unknown field "{path}"' in said.stderr


def test_the_name_of_a_kind_is_of_that_kind_alone(kubectl: Kubectl, api: Client, namespace: str) -> None:
    """A category of the same name would have kubectl delete resources of that name and of all kinds."""
    api.create(COLLECTION.format(namespace), DOCUMENT)
    name = DOCUMENT["metadata"]["name"]
    feeds = collector()
    feeds["metadata"] = {"name": name}
    assert kubectl("create", "-f", "-", document=feeds).returncode == 0
    done = kubectl("delete", "logpersister", name)
    assert (done.returncode, done.stderr) == (0, "")
    left = kubectl("get", "log-persister", "-o", "name").stdout.split()
    assert left == [f"feedcollector.logpersister.dev/{name}"], "all kinds of ours, by their category"
