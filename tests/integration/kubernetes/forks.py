"""Operators that are children of a process which has imported everything (`tests.integration.kubernetes.forking`)."""

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

_POLL_SECONDS = 0.02


class Fork:
    """One of them; like `subprocess.Popen`."""

    def __init__(self, environment: Mapping[str, str], log: Path) -> None:
        self.pid: int = _ask(environment=dict(environment), log=str(log))
        self._code: int | None = None

    def poll(self) -> int | None:
        if self._code is None:
            self._code = _ask(ended=self.pid)
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("operator", timeout or 0)
            time.sleep(_POLL_SECONDS)
        return code

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:  # until it is asked for its code, its number is no one else's
            os.kill(self.pid, number)


def _ask(**request: Any) -> Any:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{json.dumps(request)}\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@cache
def _server() -> "subprocess.Popen[str]":
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.kubernetes.forking"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        start_new_session=True,  # Ctrl-C is for us
    )
    atexit.register(server.communicate)  # it ends when nobody can ask any more
    return server
