"""Programs that look for mistakes."""

import subprocess
from pathlib import Path

from tests.stack import artifacts

_SECONDS = 60


def complaints(program: str, *arguments: str | Path, text: str = "") -> str:
    """Run a program that set-up builds on ``text``; return what it finds wrong, empty when nothing is."""
    command = [artifacts.go_program(program), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=_SECONDS)
    assert done.returncode == 0 or done.stdout + done.stderr
    return "" if done.returncode == 0 else done.stdout + done.stderr
