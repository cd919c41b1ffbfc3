"""What a resource becomes, as files that people read. After a wanted change: ``make golden``.

What all children share, and what repeats the resource, is left out of the files: it has tests of its own.
"""

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from logpersister.manifest import LogPersister
from logpersister_operator.cluster.kinds import Document
from tests.unit.kubernetes.samples import Life, resource

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

LARGE: dict[str, Any] = {
    "kafka": {
        "bootstrapServers": "broker-1:9093",
        "topicPattern": "^web\\.",
        "security": {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretName": "kafka.login"},
    },
    "members": 3,
    "networkPolicy": "Restricted",
    "spark": {"executors": 2, "executorPodTemplate": {"spec": {"nodeSelector": {"disk": "none"}}}},
    "podTemplate": {
        "metadata": {"labels": {"team": "data", "app.kubernetes.io/name": "mine"}, "annotations": {"scrape": "true"}},
        "spec": {
            "tolerations": [{"key": "spot", "operator": "Exists"}],
            "containers": [
                {"name": "member", "resources": {"requests": {"cpu": "4"}}, "env": [{"name": "TZ", "value": "UTC"}]},
                {"name": "sidecar", "image": "registry.example/sidecar:1"},
            ],
            "volumes": [{"name": "tmp", "emptyDir": {"medium": "Memory"}}],
        },
    },
}
SPECS: dict[str, dict[str, Any]] = {"small": {}, "large": LARGE}
LABELS = {
    "app.kubernetes.io/name": "logpersister",
    "app.kubernetes.io/instance": "clicks-backup",
    "app.kubernetes.io/managed-by": "logpersister-operator",
    "logpersister.dev/resource": "clicks-backup",
}
EVERY_SPEC = pytest.mark.parametrize("name", SPECS)


class _Readable(yaml.SafeDumper):
    """Texts of several lines stand as they are."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


_Readable.add_representer(str, _Readable.represent_str)


def children(name: str) -> list[Document]:
    plan = Life(resource(**SPECS[name])).step()
    assert plan.apply, plan.status
    return list(plan.apply)


@EVERY_SPEC
def test_children(name: str) -> None:
    file = GOLDEN / f"{name}.yaml"
    text = yaml.dump_all(
        map(_what_differs, children(name)), Dumper=_Readable, sort_keys=False, width=110, allow_unicode=True
    )
    if UPDATE:
        file.write_text(text)
        pytest.skip(f"{file.name} is written anew, and compared with nothing")
    assert text == file.read_text(), f"{file.name} differs; see the docstring of this module"


@EVERY_SPEC
def test_members_get_the_resource_as_it_was_applied(name: str) -> None:
    whole = resource(**SPECS[name])
    (noted,) = (child["data"]["resource.json"] for child in children(name) if "resource.json" in child.get("data", {}))
    assert LogPersister.model_validate(json.loads(noted)).spec == LogPersister.model_validate(whole).spec
    assert json.loads(noted)["metadata"] == {"name": "clicks-backup", "namespace": "logs"}


def _what_differs(child: Document) -> Document:
    found = copy.deepcopy(child)
    del found["apiVersion"]
    metadata = found.pop("metadata")
    found = {"kind": found.pop("kind"), "name": metadata["name"], **found}
    labels = {name: value for name, value in metadata["labels"].items() if name not in LABELS}
    found |= {name: it for name, it in (("labels", labels), ("annotations", metadata.get("annotations"))) if it}
    found.get("data", {}).pop("resource.json", None)
    return found
