"""One server process: start, wait until it serves, stop, kill, freeze; its output is in a file."""

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from tests.stack import processes, reaper
from tests.stack.ports import LOOPBACK, free_port

START_TIMEOUT = 90.0
"""Seconds until a server must serve. Generous: a busy machine starts a JVM slowly, and success never waits for it."""

STOP_TIMEOUT = 20.0
"""Seconds that a server may take to end by itself before it is killed."""

_TAIL_LINES = 30
_POLL = 0.05


class ServerError(Exception):
    """A server did not start or died; the message ends with the last lines of its log."""


class Launched(ABC):
    """What starts for the time of a ``with`` block: one process, or several that belong together."""

    @abstractmethod
    def launch(self) -> None:
        """Start without waiting."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until it serves."""

    @abstractmethod
    def kill(self) -> None:
        """Kill -9; nothing happens to what does not run."""

    def __enter__(self) -> Self:
        try:
            self.launch()
            self.wait()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()  # data of a test is thrown away: an orderly end would only cost seconds


class Server(Launched):
    """A server in ``directory``, which holds its configuration, its data and its log.

    Starting has two halves, so that several servers can start at the same time: see `running`.
    """

    name: str

    def __init__(self, directory: Path, *, port: int | None = None) -> None:
        self.directory = directory
        self.port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.frozen = False
        """Whether `suspend` has stopped it, and nothing has woken it up since."""

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """Prepare the directory and return the command line."""

    @abstractmethod
    def _serves(self) -> bool:
        """Whether the server answers now. Quick, never raises."""

    def _environment(self) -> Mapping[str, str]:
        """Return what is added to the environment."""
        return {}

    @property
    def log(self) -> Path:
        """Standard output and error of the server, appended over restarts."""
        return self.directory / f"{self.name}.log"

    @property
    def temporary(self) -> Path:
        """Where it has its temporary files: by TMPDIR, and Java by an option of its own (`tests.stack.scratch`)."""
        return self.directory.absolute() / "tmp"

    @property
    def pid(self) -> int:
        """Process id; the server is the leader of a process group of its own."""
        return self._running().pid

    @property
    def alive(self) -> bool:
        """Whether the process exists (it may be frozen)."""
        return self._process is not None and self._process.poll() is None

    def serves(self) -> bool:
        """Whether it runs and answers now."""
        return self.alive and self._serves()

    def launch(self, *, detached: bool = False) -> None:
        """Start the process without waiting for it; unless ``detached`` it dies with this process."""
        if self.alive:
            raise ServerError(f"{self.name} runs already, process {self.pid}")
        self.temporary.mkdir(parents=True, exist_ok=True)
        command = self._command()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=self.directory,
                env={**os.environ, "TMPDIR": str(self.temporary), **self._environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C stops us, and we stop the servers in the right order
            )
        if not detached:
            reaper.register(self._process.pid)

    def wait(self, timeout: float = START_TIMEOUT) -> None:
        """Wait until the server serves; raise `ServerError` when it dies or does not within ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while not self._serves():
            if not self.alive:
                code = self._process.returncode if self._process else None
                raise ServerError(f"{self.name} ended with exit code {code} before it served{self._tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise ServerError(f"{self.name} did not serve within {timeout:.0f} s{self._tail()}")
            time.sleep(_POLL)

    def restart(self) -> None:
        """Start again on the same port and data, after `stop` or `kill` (a running server is stopped first)."""
        self.stop()
        self.launch()
        self.wait()

    def recover(self) -> None:
        """Wake it, or start it again, whatever has been done to it, and wait until it serves."""
        self.revive()
        self.wait()

    def revive(self) -> None:
        """Do that without waiting."""
        if self.alive:
            self.resume()
        else:
            self.launch()

    def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """End the server in its own orderly way; kill it if it takes longer than ``timeout`` seconds."""
        if self.alive:
            self.resume()
            processes.stop(self._running(), timeout)
        self._reap()

    def kill(self) -> None:
        """Kill -9."""
        if self.alive:
            self._running().kill()
        self._reap()

    def suspend(self) -> None:
        """Freeze the process: connections stay, nothing answers."""
        self._running().send_signal(signal.SIGSTOP)
        self.frozen = True

    def resume(self) -> None:
        """Let a frozen process go on."""
        self._running().send_signal(signal.SIGCONT)
        self.frozen = False

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None:
            raise ServerError(f"{self.name} was not started")
        return self._process

    def _reap(self) -> None:
        if self._process is not None:
            self._process.wait()
            reaper.forget(self._process.pid)
            self._process = None
            self.frozen = False

    def _tail(self) -> str:
        if not self.log.exists():
            return ""
        lines = self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:]
        return "\n".join([f"; the end of {self.log}:", *(f"    {line}" for line in lines)])


@contextmanager
def running(*servers: Any) -> Iterator[Any]:
    """Start servers side by side, yield them once all serve, and kill them afterwards."""
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.kill)
            server.launch()
        for server in servers:
            server.wait()
        yield servers


def answers(url: str) -> bool:
    """Whether an HTTP server answers a GET with 200 now."""
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def accepts(port: int) -> bool:
    """Whether somebody accepts connections on a port of loopback now."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=2).close()
    except OSError:
        return False
    return True
