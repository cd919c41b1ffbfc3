"""Runs commands whose output goes to a log: they show that they go on, and the log's end when they fail.

Standard library only: set-up uses it before there is an environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache"
LOGS = CACHE / "log"

_TAIL_LINES = 40
_QUIET_SECONDS = 20.0
"""Where output is not a terminal, a sign of life comes this often."""


class FailedError(Exception):
    """A command failed; the message says why and where its whole log is."""


def begin(name: str) -> None:
    """Begin the log of that name anew."""
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / f"{name}.log").unlink(missing_ok=True)


def run(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> None:
    """Run a command with its output added to the log of that name; raises `FailedError`."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    with log.open("a") as output:
        output.write(f"$ {' '.join(command)}\n")
        output.flush()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _watch(process, log)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode != 0:
        tail = "\n".join(f"    {line}" for line in _lines(log)[-_TAIL_LINES:])
        raise FailedError(f"{command[0]} ended with exit code {process.returncode}; the end of {log}:\n{tail}")


def _watch(process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait for the end; on a terminal show the log's last line, elsewhere a line now and then."""
    terminal = sys.stdout.isatty()
    began = shown = time.monotonic()
    while True:
        try:
            process.wait(0.2)
            break
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if terminal or now - shown >= _QUIET_SECONDS:
                shown = now
                _progress(now - began, _lines(log), terminal=terminal)
    if terminal:
        print("\r\033[K", end="", flush=True)


def _progress(seconds: float, lines: list[str], *, terminal: bool) -> None:
    text = f"    {seconds:4.0f} s  {len(lines)} lines: {lines[-1].strip() if lines else ''}"
    if terminal:
        width = shutil.get_terminal_size().columns
        print("\r\033[K" + text[: width - 1], end="", flush=True)
    else:
        print(text[:120], flush=True)


def _lines(log: Path) -> list[str]:
    return [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
