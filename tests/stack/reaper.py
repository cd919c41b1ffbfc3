"""Kills our servers when this process has gone, however it went (kill -9 too).

A small process holds the other end of a pipe: when the pipe closes, it kills what is registered. Unlike Linux's
parent-death signal this does not depend on the thread that started a server staying alive.
"""

import atexit
import subprocess
import sys
import threading

_PROGRAM = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
"""

_lock = threading.Lock()
_process: "subprocess.Popen[str] | None" = None


def register(group: int) -> None:
    """Kill the process group ``group`` when this process ends."""
    _tell(f"+{group}\n")


def forget(group: int) -> None:
    """The process group has ended: its number may be used by others now."""
    _tell(f"-{group}\n")


def _tell(line: str) -> None:
    global _process
    with _lock:
        if _process is None:
            _process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C is for us; the pipe tells the reaper
            )
            atexit.register(_finish, _process)
        assert _process.stdin is not None
        _process.stdin.write(line)
        _process.stdin.flush()


def _finish(process: "subprocess.Popen[str]") -> None:
    """Close the pipe in an orderly end, so that nothing is left running when the interpreter has gone."""
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
