"""The node's processes: they outlive the command that starts them.

A process id alone may belong to somebody else by now: it counts only together with the time at which its process
started.
"""

import json
import os
import subprocess
import time
from collections.abc import Sequence

import psutil

from tests.cluster.node.machine import NodeError, inside
from tests.cluster.node.place import LOGS, STATE
from tests.stack.server import STOP_TIMEOUT


class Daemon:
    """One process of the node."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        self.name = name
        self._command = list(command)
        self._file = STATE / "run" / f"{name}.json"
        self.log = LOGS / f"{name}.log"

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process() is not None

    def start(self) -> None:
        """Start it unless it runs."""
        if self.alive:
            return
        LOGS.mkdir(parents=True, exist_ok=True)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                inside(self._command),
                cwd=STATE,
                env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        started = psutil.Process(process.pid).create_time()
        process.returncode = 0  # it outlives us: subprocess must not complain that nobody waits for it
        self._file.write_text(json.dumps({"pid": process.pid, "started": started}))

    def stop(self) -> None:
        """End it in order; kill it when that takes too long."""
        process = self._process()
        if process is not None:
            process.terminate()
            if not _gone(process, STOP_TIMEOUT):
                self.kill()

    def kill(self) -> None:
        """Kill -9."""
        process = self._process()
        if process is not None:
            process.kill()
            _gone(process, STOP_TIMEOUT)

    def check(self) -> None:
        """Raise `NodeError` with the end of the log unless it runs."""
        if not self.alive:
            raise NodeError(f"{self.name} has ended; the end of {self.log}:\n{self.tail(15)}")

    def tail(self, lines: int) -> str:
        """Return the end of the log."""
        found = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(f"    {line[:400]}" for line in found[-lines:])

    def _process(self) -> psutil.Process | None:
        try:
            known = json.loads(self._file.read_text())
            process = psutil.Process(known["pid"])
            same = process.create_time() == known["started"] and process.status() != psutil.STATUS_ZOMBIE
        except (FileNotFoundError, psutil.NoSuchProcess):
            return None
        return process if same else None


def _gone(process: psutil.Process, seconds: float) -> bool:
    """Wait until a process has ended. Not by psutil's wait: one that nobody reaps stays, as a zombie."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False
