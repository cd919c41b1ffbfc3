"""Helm as a user calls it, and what it renders as documents."""

import functools
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.stack import artifacts

CHART = artifacts.ROOT / "charts" / "logpersister"
Document = dict[str, Any]
Values = Mapping[str, Any]

_SECONDS = 400


class HelmError(Exception):
    """Helm said no; the message is all that it said."""


def helm(
    *arguments: str,
    values: Values | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = _SECONDS,
) -> str:
    """Run helm, with ``values`` as a file of values; return its output. Raises HelmError."""
    command = [str(artifacts.go_program("helm")), *arguments]
    if values is not None:
        command.append("--values=-")
    done = subprocess.run(
        command,
        input=yaml.safe_dump(dict(values or {})),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **(environment or {})},
    )
    if done.returncode != 0:
        raise HelmError(done.stdout + done.stderr)
    return done.stdout


def template(values: Values | None = None, *, namespace: str = "logpersister-system", chart: Path = CHART) -> str:
    """Return everything that the chart renders, hooks included, as text."""
    return _template(json.dumps(values or {}), namespace, chart)


@functools.cache
def _template(values: str, namespace: str, chart: Path) -> str:
    return helm("template", "logpersister", str(chart), "--namespace", namespace, values=json.loads(values))


def render(values: Values | None = None, *, namespace: str = "logpersister-system") -> "Rendered":
    return Rendered(documents(template(values, namespace=namespace)))


def documents(text: str) -> list[Document]:
    """Parse what is rendered; by C, since definitions are 400 kB of it."""
    return [document for document in yaml.load_all(text, yaml.CSafeLoader) if document is not None]


class Rendered:
    """What a chart renders, by kind and name."""

    def __init__(self, found: Sequence[Document]) -> None:
        self.all = list(found)

    @property
    def installed(self) -> list[Document]:
        """Without hooks."""
        return [one for one in self.all if not is_hook(one)]

    def of_kind(self, kind: str) -> list[Document]:
        return [one for one in self.all if one["kind"] == kind]

    def one(self, kind: str, name: str = "logpersister-operator") -> Document:
        """Return the only object of this kind and name."""
        found = [one for one in self.of_kind(kind) if one["metadata"]["name"] == name]
        assert len(found) == 1, f"{len(found)} of {kind} {name}: {self.names()}"
        return found[0]

    def names(self) -> list[str]:
        return [f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}" for one in self.all]

    def pod(self) -> Document:
        """Return the spec of the operator's pods."""
        spec: Document = self.one("Deployment")["spec"]["template"]["spec"]
        return spec

    def environment(self, *, settings: bool = True) -> dict[str, str]:
        """Return the variables of the operator: its settings, or the others."""
        (container,) = self.pod()["containers"]
        found = {variable["name"]: variable["value"] for variable in container["env"]}
        return {name: value for name, value in found.items() if name.startswith("LOGPERSISTER_") is settings}


def is_hook(document: Document) -> bool:
    return "helm.sh/hook" in document["metadata"].get("annotations", {})
