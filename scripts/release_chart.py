"""The chart of a release: packed with the digests of its images, and with what Artifact Hub shows of it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from logged import CACHE, ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

CHART = ROOT / "charts" / "logpersister"
HELM = CACHE / "helm" / "helm"
_REGISTRY = "registry.example.org/data"
"""Stands for the registry of a user when a packed chart is checked."""


class ChartError(Exception):
    """The chart does not fit the images, or helm refused it; the message says why."""


def changes(changelog: str, version: str) -> list[dict[str, str]]:
    """Return the section of a version as Artifact Hub wants it: ``kind`` and ``description`` of each entry.

    Source: https://artifacthub.io/docs/topics/annotations/helm/
    """
    found = re.search(rf"(?ms)^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## |\Z)", changelog)
    entries, kind = [], ""
    for part in re.split(r"(?m)^(?=### |- )", found[1] if found else ""):
        if part.startswith("### "):
            kind = part.removeprefix("### ").strip().lower()
        elif part.startswith("- "):
            entries.append({"kind": kind, "description": " ".join(part.removeprefix("- ").split())})
    return entries


def described(chart: Mapping[str, Any], digests: Mapping[str, str], entries: list[dict[str, str]]) -> dict[str, Any]:
    """Return the content of Chart.yaml for a release.

    Args:
        chart: what it is in the repository.
        digests: of the images by their names, as ``sha256:...``.
        entries: what has changed.
    """
    version = str(chart["version"])
    images = [{"name": name, "image": f"{name}:{version}@{digest}"} for name, digest in digests.items()]
    annotations = {
        "artifacthub.io/images": yaml.safe_dump(images, sort_keys=False),
        "artifacthub.io/prerelease": str("-" in version).lower(),
    }
    if entries:
        annotations["artifacthub.io/changes"] = yaml.safe_dump(entries, sort_keys=False, width=10_000)
    return {**chart, "annotations": {**chart["annotations"], **annotations}}


def with_digests(values: str, operator: str, member: str) -> str:
    """Return values.yaml with the digests of the images, comments and all."""
    empty = '  digests:\n    operator: ""\n    member: ""\n'
    if values.count(empty) != 1:
        raise ChartError(f"values.yaml does not have these lines:\n{empty}")
    return values.replace(empty, f'  digests:\n    operator: "{operator}"\n    member: "{member}"\n')


def pack(folder: Path, version: str, operator: str, member: str) -> tuple[Path, dict[str, Any]]:
    """Pack the chart into a folder.

    Returns:
        The package, and what its Chart.yaml says.
    """
    chart: dict[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text())
    entries = changes((ROOT / "CHANGELOG.md").read_text(), version)
    content = described(chart, {"logpersister-operator": operator, "logpersister": member}, entries)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / CHART.name
        shutil.copytree(CHART, copy)
        (copy / "Chart.yaml").write_text(yaml.safe_dump(content, sort_keys=False, width=10_000))
        (copy / "values.yaml").write_text(with_digests((copy / "values.yaml").read_text(), operator, member))
        _helm("lint", "--strict", str(copy))
        _helm("package", str(copy), "--destination", str(folder))
    return folder / f"{CHART.name}-{version}.tgz", content


def check(package: Path, version: str, operator: str, member: str) -> None:
    """Raise `ChartError` unless a packed chart installs exactly these images, and the definition of this code."""
    rendered = _helm("template", "logpersister", str(package), "--set", f"image.registry={_REGISTRY}")
    for name, digest in (("logpersister-operator", operator), ("logpersister", member)):
        if f"{_REGISTRY}/{name}:{version}@{digest}" not in rendered:
            raise ChartError(f"{package.name} does not install {name}:{version}@{digest}")
    definitions = [one for one in yaml.safe_load_all(rendered) if one and one["kind"] == "CustomResourceDefinition"]
    ours = [yaml.safe_load(file.read_text()) for file in (ROOT / "crds").glob("*.yaml")]
    if _specs(definitions) != _specs(ours):
        raise ChartError(f"{package.name} has other definitions than crds/; run make crds")


def _specs(definitions: list[dict[str, Any]]) -> dict[str, Any]:
    return {one["metadata"]["name"]: one["spec"] for one in definitions}


def _helm(*arguments: str) -> str:
    done = subprocess.run([str(HELM), *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ChartError(f"helm {arguments[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout
