"""The commit whose operator today's has to take over from, out of git."""

import io
import subprocess
import tarfile
from pathlib import Path, PurePath
from typing import Final

from tests.stack.artifacts import ROOT

COMMIT: Final = "6f4c8adf54f7e4252238d7c58901a36b2f37b18c"
"""Of the last release; until there is one, the first whose dependencies and pods (`RENDERING`) are those of today.

Each release raises it."""
PACKAGES: Final = ("spark-app/logpersister", "operator/logpersister_operator")
"""What its operator consists of. It runs with today's dependencies."""


def check_out(folder: Path, *paths: str) -> Path:
    """Write paths of that commit into a folder, and return it."""
    done = subprocess.run(["git", "archive", COMMIT, *paths], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, f"clone the whole history, this test needs {COMMIT}: {done.stderr!r}"
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder


def python_path(folder: PurePath) -> str:
    """Return the variable by which Python takes the packages from where they were written to."""
    return ":".join(str((folder / package).parent) for package in PACKAGES)
