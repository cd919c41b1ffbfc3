"""Makes a cluster ready for a program: the node is up, or another one is named; the images built last are there."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.environment import HOST, MEMBER_IMAGE, OPERATOR_IMAGE, OWN_NODE
from tests.cluster.node import Node, NodeError, images
from tests.cluster.node.machine import inside
from tests.cluster.node.place import DIRECTORY, KUBECONFIG, KUBECTL_CACHE, NODE_ADDRESS
from tests.stack.artifacts import ROOT, MissingArtifactError


def run_on_cluster(command: Sequence[str]) -> int:
    """Run a command where it reaches the cluster; return its exit code, or 1 with a message without a cluster."""
    try:
        references = {target: _image("name", target) for target in ("operator", "spark-app")}
        environment = {OPERATOR_IMAGE: references["operator"], MEMBER_IMAGE: references["spark-app"]}
        if os.environ.get("KUBECONFIG"):
            host = os.environ.get(HOST)
            if not host:
                raise NodeError(f"KUBECONFIG is set, so {HOST} must be: the address by which pods reach this machine")
            _load_elsewhere(references)
        else:
            with _phase("the node"):
                Node().up()
            _load(references)
            command = inside(command)
            environment |= {"KUBECONFIG": str(KUBECONFIG), "KUBECACHEDIR": str(KUBECTL_CACHE)}
            environment |= {HOST: NODE_ADDRESS, OWN_NODE: "1"}
    except (NodeError, MissingArtifactError) as error:
        print(error, file=sys.stderr)
        return 1
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=False).returncode


def _load(references: dict[str, str]) -> None:
    """Load what the node does not have, and let go of earlier builds."""
    for target, reference in references.items():
        if not images.has(reference):
            with _phase(f"loading {reference}"), tempfile.TemporaryDirectory(dir=DIRECTORY) as folder:
                archive = Path(folder) / f"{target}.tar"
                _image("save", target, str(archive))
                images.load(reference, archive)
        images.forget_others(reference.rpartition(":")[0], but=reference)


def _load_elsewhere(references: dict[str, str]) -> None:
    load = os.environ.get("CLUSTER_LOAD")
    if not load:
        return
    for target in references:
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(folder) / f"{target}.tar"
            _image("save", target, str(archive))
            subprocess.run([*shlex.split(load), str(archive)], check=True)


@contextmanager
def _phase(name: str) -> Iterator[None]:
    """Say what takes time, and how much."""
    print(f"==> {name}", flush=True)
    began = time.monotonic()
    yield
    print(f"    done in {time.monotonic() - began:.0f} s", flush=True)


def _image(*arguments: str) -> str:
    """Ask scripts/image.py; raise `NodeError` with what it says."""
    script = str(ROOT / "scripts" / "image.py")
    done = subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NodeError(done.stderr)
    return done.stdout.strip()
