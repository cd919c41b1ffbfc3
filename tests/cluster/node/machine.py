"""What the node needs of the machine: root, Debian packages, and commands that say why they fail."""

import os
import subprocess
import sys
from collections.abc import Sequence

from tests.cluster.node.place import NAMESPACE
from tests.stack.artifacts import ROOT

_DEBIAN = ROOT / "scripts" / "debian.py"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class NodeError(Exception):
    """The node cannot be brought up; the message says why and what to do."""


def prepare() -> None:
    """Install the packages that are missing; raise `NodeError` where that is not possible."""
    if os.geteuid() != 0:
        raise NodeError("the node needs root; without it set KUBECONFIG to a cluster of your own, such as one of kind")
    if subprocess.run([sys.executable, str(_DEBIAN), "node"], check=False).returncode != 0:
        raise NodeError("without these packages set KUBECONFIG to a cluster of your own")


def inside(command: Sequence[str]) -> list[str]:
    """Return the command that runs in the node's network namespace.

    nsenter, for ``ip netns exec`` mounts a /sys of its own, which hides control groups from the kubelet.
    """
    return ["nsenter", f"--net={NAMESPACE}", "--", *command]


def run(command: Sequence[str]) -> str:
    """Run a command of the machine to its end and return what it printed; raise `NodeError` when it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": _PATH},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-20:])
        raise NodeError(f"exit code {done.returncode} of: {' '.join(command)}\n{tail}")
    return done.stdout


def succeeds(command: Sequence[str]) -> bool:
    """Whether a command ends well."""
    environment = {**os.environ, "PATH": _PATH}
    return (
        subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode
        == 0
    )
