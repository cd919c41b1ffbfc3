"""Installs what is missing of Debian's packages: ``scripts/debian.py SET ...``; takes programs out of packages.

Installs only on a Debian as root, as continuous integration is; elsewhere it says what to install. Nothing that a
package brings is started.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import logged
from logged import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

SETS = {
    "browser": {
        "/usr/bin/chromium": "chromium",
        "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf": "fonts-dejavu-core",
    },
    "images": {
        "buildah": "buildah",
        "debootstrap": "debootstrap",
        "/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
    },
    "node": {
        "containerd": "containerd",
        "ctr": "containerd",
        "runc": "runc",
        "conntrack": "conntrack",
        "iptables": "iptables",
        "ip": "iproute2",
        "nsenter": "util-linux",
        "sysctl": "procps",
        "umount": "mount",
        "/usr/lib/cni/bridge": "containernetworking-plugins",
    },
}
"""Programs and files that are needed together, by the package that has them."""

_POLICY = Path("/usr/sbin/policy-rc.d")
_LOG = "apt"
_APT = ("apt-get", "--quiet", "--option=Acquire::Retries=5", "--option=DPkg::Lock::Timeout=300")


class MissingError(Exception):
    """Packages are missing and cannot be installed here; the message names them."""


def install(name: str) -> None:
    """Install what is missing of a set; raises `MissingError`, and `logged.FailedError` where apt fails."""
    missing = sorted({package for program, package in SETS[name].items() if not _present(program)})
    if not missing:
        return
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise MissingError(f"install {', '.join(missing)}, or run as root on a Debian with apt")
    print(f"==> Debian packages: {' '.join(missing)}", flush=True)
    logged.begin(_LOG)
    command = [*_APT, "install", "--yes", "--no-install-recommends", *missing]
    with _services_stay_down():
        _run(_LOG, command, ROOT)


def extract(log: str, package: str, folder: Path) -> None:
    """Unpack a package into a folder, without installing it; raises `logged.FailedError`."""
    _run(log, [*_APT, "--option=APT::Sandbox::User=root", "download", package], folder)
    (archive,) = folder.glob("*.deb")
    logged.run(log, ["dpkg-deb", "--extract", str(archive), str(folder)])
    archive.unlink()


def _run(log: str, command: list[str], folder: Path) -> None:
    """Run apt; where it fails, once more with new lists of packages."""
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        logged.run(log, command, environment, folder)
    except logged.FailedError:
        logged.run(log, [*_APT, "update"])
        logged.run(log, command, environment, folder)


def _present(program: str) -> bool:
    """Whether there is a program of that name, or a file of that path."""
    return Path(program).exists() or shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is not None


@contextlib.contextmanager
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


def main() -> int:
    """Install the sets that are named."""
    try:
        for name in sys.argv[1:]:
            install(name)
    except (MissingError, logged.FailedError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
