"""Commands that somebody runs beside members, and that are perhaps killed in the middle."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.chaos.stage import Stage
from tests.stack import reaper
from tests.stack.fault_proxy import Fault

_POLL_SECONDS = 0.01
_BEGIN_SECONDS = 60.0
"""How long a command that is to be killed may take to its first change."""
_END_SECONDS = 180.0
_LOGPERSISTER = str(Path(sys.executable).with_name("logpersister"))


def logpersister(*arguments: str) -> list[str]:
    """Return how a user runs a command."""
    return [_LOGPERSISTER, *arguments]


class Command:
    """A running command."""

    def __init__(
        self, stage: Stage, command: Sequence[str], has_changed: Callable[[], bool], *, kill_after: float | None
    ) -> None:
        """Start it.

        Args:
            has_changed: says whether it has begun to change something.
            kill_after: seconds from its first change to its death; None: it is to come to its end.
        """
        self.has_changed = has_changed
        self._began = time.monotonic()
        with (stage.directory / "commands.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        reaper.register(self._process.pid)
        if kill_after is not None:
            threading.Thread(target=self._kill, args=(kill_after,), name="command-killed", daemon=True).start()

    @property
    def code(self) -> int | None:
        return self._process.returncode

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def ended(self) -> bool:
        """Whether it has; one that takes too long is killed."""
        if time.monotonic() - self._began > _END_SECONDS:
            self._process.kill()
        if self._process.poll() is None:
            return False
        reaper.forget(self._process.pid)
        return True

    def told(self) -> str:
        """Return how it has ended."""
        return f"it has ended with {self.code} " + (
            "after its first change" if self.has_changed() else "without change"
        )

    def _kill(self, after: float) -> None:
        until = self._began + _BEGIN_SECONDS
        while self._process.poll() is None and time.monotonic() < until and not self.has_changed():
            time.sleep(_POLL_SECONDS)
        time.sleep(after)
        self._process.kill()


class Requests:
    """Notices that a request to the bucket is made which a command changes it by."""

    def __init__(self, stage: Stage, matches: Callable[[str], object]) -> None:
        """Begin to look at requests."""
        self._proxy, self._made = stage.proxy, threading.Event()
        self._matches = matches
        self._fault = Fault(matches=self._notices, times=None)
        self._proxy.inject(self._fault)

    def made(self) -> bool:
        return self._made.is_set()

    def close(self) -> None:
        """Look no more."""
        self._proxy.remove(self._fault)

    def _notices(self, line: str) -> bool:
        if self._matches(line):
            self._made.set()
        return False
