"""What the node needs of the machine: root, Debian packages, and commands that say why they fail."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.node.place import LOGS, NAMESPACE

PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "conntrack": "conntrack",
    "iptables": "iptables",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
}
"""What is called, by the package of Debian that has it."""

_POLICY = Path("/usr/sbin/policy-rc.d")
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class NodeError(Exception):
    """The node cannot be brought up; the message says why and what to do."""


def prepare() -> None:
    """Install the packages that are missing; raise `NodeError` where that is not possible."""
    if os.geteuid() != 0:
        raise NodeError("the node needs root; without it set KUBECONFIG to a cluster of your own, such as one of kind")
    missing = sorted({package for program, package in PROGRAMS.items() if shutil.which(program, path=_PATH) is None})
    if not missing:
        return
    if shutil.which("apt-get") is None:
        raise NodeError(f"install {', '.join(missing)}, or set KUBECONFIG to a cluster of your own")
    print(f"==> Debian packages of the node: {' '.join(missing)}", flush=True)
    with _services_stay_down():
        environment = {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "--quiet"], log="apt", environment=environment)
        install = ["apt-get", "install", "--yes", "--quiet", "--no-install-recommends", *missing]
        run(install, log="apt", environment=environment)


@contextmanager
def _services_stay_down() -> Iterator[None]:
    """Debian starts the services of a package at once, unless this file says no (101)."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


def inside(command: Sequence[str]) -> list[str]:
    """Return the command that runs in the node's network namespace.

    nsenter, for ``ip netns exec`` mounts a /sys of its own, which hides control groups from the kubelet.
    """
    return ["nsenter", f"--net={NAMESPACE}", "--", *command]


def run(command: Sequence[str], *, log: str | None = None, environment: dict[str, str] | None = None) -> str:
    """Run a command of the machine to its end and return what it printed; raise `NodeError` when it fails."""
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": _PATH, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if log is not None:
        LOGS.mkdir(parents=True, exist_ok=True)
        with (LOGS / f"{log}.log").open("a") as file:
            file.write(done.stdout)
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
