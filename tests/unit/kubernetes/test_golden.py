"""Every child as it is applied, against files that people read. After a wanted change: ``make golden``."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.kubernetes.samples import Life, resource

GOLDEN = Path(__file__).parent / "golden"
UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

SMALL: dict[str, Any] = {}
LARGE: dict[str, Any] = {
    "kafka": {
        "bootstrapServers": "broker-1:9093",
        "topicPattern": "^web\\.",
        "security": {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "secretName": "kafka.login"},
    },
    "members": 3,
    "networkPolicy": "Restricted",
    "spark": {
        "executors": 2,
        "executorPodTemplate": {"spec": {"nodeSelector": {"disk": "none"}}},
    },
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


class _Readable(yaml.SafeDumper):
    """Texts of several lines stand as they are."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


_Readable.add_representer(str, _Readable.represent_str)


@pytest.mark.parametrize(("name", "spec"), [("small", SMALL), ("large", LARGE)])
def test_children(name: str, spec: dict[str, Any]) -> None:
    plan = Life(resource(**spec)).step()
    assert plan.apply, plan.status
    text = yaml.dump_all(plan.apply, Dumper=_Readable, sort_keys=False, width=110, allow_unicode=True)
    file = GOLDEN / f"{name}.yaml"
    if UPDATE:
        file.write_text(text)
    assert text == file.read_text(), f"{file.name} differs; see the docstring of this test"
