"""Operators and members as children of a process that has imported everything (`tests.integration.harness.forking`)."""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

OPERATOR: Final = ("tests.integration.harness.hasty_operator",)
MEMBER: Final = ("logpersister.cli.main", "logpersister.cli.run")
"""Modules: of the function ``main``, and what it imports later."""
_CODE = os.environ.get("PYTHONPATH")
"""Where the code under test comes from, unless a test says that a process is an earlier or a later one."""
_POLL_SECONDS = 0.02
_lock = threading.Lock()


class Fork:
    """One of them; like `subprocess.Popen`."""

    def __init__(
        self, program: tuple[str, ...], arguments: Sequence[str], environment: Mapping[str, str], log: Path
    ) -> None:
        self._program = program
        self.pid: int = _ask(program, arguments=list(arguments), environment=dict(environment), log=str(log))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            with _lock:
                if self.returncode is None:
                    self.returncode = _ask_now(self._program, ended=self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self._program[0], timeout or 0)
            time.sleep(_POLL_SECONDS)
        return code

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:  # until it is asked for its code, its number is no one else's
            os.kill(self.pid, number)


def begin(log: Path, *command: str) -> Fork:
    """Begin a command of ``logpersister`` in this environment; what it says goes into a log."""
    log.touch()
    return Fork(MEMBER, command, os.environ, log)


def is_new(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment has to import everything itself: other code, or coverage of its own."""
    return environment.get("PYTHONPATH") != _CODE or "COVERAGE_PROCESS_CONFIG" in environment


def _ask(program: tuple[str, ...], **request: Any) -> Any:
    with _lock:
        return _ask_now(program, **request)


def _ask_now(program: tuple[str, ...], **request: Any) -> Any:
    server = _server(program)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{json.dumps(request)}\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@cache
def _server(program: tuple[str, ...]) -> "subprocess.Popen[str]":
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.harness.forking", *program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
        start_new_session=True,  # Ctrl-C is for us
    )
    atexit.register(server.communicate)  # it ends when nobody can ask any more
    return server
