"""Runs commands whose output goes to a log: they show that they go on, and the log's end when they fail.

Several may run at once, each in a thread: they share one line of a terminal. Standard library only: set-up uses it
before there is an environment.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
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

_screen = threading.RLock()
_running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
"""Each command that runs, by the name of its log, and when it began."""
stopped = threading.Event()
"""Set by `stop`: nothing is started any more."""


class FailedError(Exception):
    """A command failed; the message says why and where its whole log is."""


def begin(name: str) -> None:
    """Begin the log of that name anew."""
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / f"{name}.log").unlink(missing_ok=True)


def say(text: str) -> None:
    """Print a line of its own, also while commands show their progress."""
    with _screen:
        _clear()
        print(text, flush=True)


def stop() -> None:
    """End every command that runs, and start no other; the threads that wait for them raise `FailedError`."""
    with _screen:
        stopped.set()
        for process, _ in _running.values():
            _end(process)


def run(name: str, command: Sequence[str], environment: Mapping[str, str] | None = None, folder: Path = ROOT) -> None:
    """Run a command with its output added to the log of that name; raises `FailedError`."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{name}.log"
    with log.open("a") as output:
        output.write(f"$ {' '.join(command)}\n")
        output.flush()
        with _screen:
            if stopped.is_set():
                raise FailedError(f"{command[0]} was not started")
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,  # installers start compilers: all of them end together
            )
            _running[name] = process, time.monotonic()
    try:
        _watch(process, name)
    finally:
        if process.poll() is None:
            _end(process)
            process.wait()
        with _screen:
            del _running[name]
            _clear()
    if process.returncode != 0:
        tail = "\n".join(f"    {line}" for line in _lines(name)[-_TAIL_LINES:])
        raise FailedError(f"{command[0]} ended with exit code {process.returncode}; the end of {log}:\n{tail}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command and all that it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)


def _watch(process: subprocess.Popen[bytes], name: str) -> None:
    """Wait for the end; on a terminal show the last line of each log, elsewhere a line now and then."""
    terminal = sys.stdout.isatty()
    began = shown = time.monotonic()
    while True:
        try:
            process.wait(0.2)
        except subprocess.TimeoutExpired:
            now = time.monotonic()
            if terminal:
                _redraw(now)
            elif now - shown >= _QUIET_SECONDS:
                shown = now
                say(_progress(name, now - began)[:120])
        else:
            return


def _redraw(now: float) -> None:
    """Show all that runs in one line, each in its share of the width."""
    with _screen:
        share = (shutil.get_terminal_size().columns - 1) // max(1, len(_running)) - 1
        texts = [_progress(name, now - began)[:share].ljust(share) for name, (_, began) in _running.items()]
        print("\r\033[K" + " ".join(texts), end="", flush=True)


def _clear() -> None:
    if sys.stdout.isatty():
        print("\r\033[K", end="", flush=True)


def _progress(name: str, seconds: float) -> str:
    lines = _lines(name)
    return f"    {seconds:4.0f} s  {name}, {len(lines)} lines: {lines[-1].strip() if lines else ''}"


def _lines(name: str) -> list[str]:
    return [line for line in (LOGS / f"{name}.log").read_text(errors="replace").splitlines() if line.strip()]
