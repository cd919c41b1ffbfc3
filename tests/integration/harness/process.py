"""``logpersister run`` as a process of its own: start, look at, signal, and be sure that nothing of it is left."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from tests.integration.harness.event_log import Event, EventLog
from tests.integration.harness.forks import MEMBER, Fork, is_new
from tests.integration.harness.waiting import eventually
from tests.stack import reaper
from tests.stack.scratch import of_spark

_MARK = "LOGPERSISTER_TEST_MEMBER"
"""Environment variable that every program of a member inherits; its value is the member's log file."""
_CLOCK_SECONDS = 5.0
"""By which the time at which a process began, counted from the machine's start, may be off."""


class MemberProcess:
    """One member, already starting. Its log is a file of JSON lines.

    Its processes are the driver, Spark's JVM, and the Python workers.
    """

    def __init__(
        self,
        manifest: Path,
        log: Path,
        *options: str,
        environment: Mapping[str, str] | None = None,
        command: str = "run",
    ) -> None:
        self.log = log
        self._events = EventLog(log)
        self._address: str | None = None
        self._began = time.time()
        arguments = [command, "-f", str(manifest), "--http", "127.0.0.1:0", "--log-format", "json"]
        arguments += ["--log-level", "debug", *([] if command == "collect" else ["--cores", "2"]), *options]
        variables = {**os.environ, **of_spark(log.parent / "spark"), **(environment or {}), _MARK: str(log)}
        self._process = _begin(arguments, variables, log)
        reaper.register(self._process.pid)  # should pytest itself be killed; the JVM ends with the driver

    # what it says

    def events(self, name: str | None = None, **fields: object) -> list[Event]:
        """Return its log events, of this name and with these fields."""
        return self._events.events(name, **fields)

    def wait_event(self, name: str, *, count: int = 1, **fields: object) -> Event:
        """Wait until the log has ``count`` such events; return the last one."""

        self.wait(f"event {name} {fields or ''}", lambda: len(self.events(name, **fields)) >= count)
        return self.events(name, **fields)[-1]

    def status(self) -> Mapping[str, Any]:
        """Return ``/status``; empty as long as nothing answers."""
        document: Mapping[str, Any] = json.loads(self._get("/status") or "{}")
        return document

    def metrics(self) -> dict[str, float]:
        """Return ``/metrics``: value by name with labels, as ``name{label="value"}``."""
        lines = (line for line in self._get("/metrics").splitlines() if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def page(self, path: str) -> str:
        """Return a page for browsers; empty as long as nothing answers."""
        return self._get(path, Accept="text/html")

    def lag(self) -> Mapping[str, Any] | None:
        """Return the lag by ``/status``; None while the member does not know it."""
        lag: Mapping[str, Any] = self.status().get("lag", {})
        return lag if lag.get("known") else None

    def held(self) -> dict[str, str]:
        """Return the reason by partition (``topic-0``) of what is held, by ``/status``."""
        held = self.status().get("heldPartitions", {}).get("first", [])
        return {f"{one['topic']}-{one['partition']}": one["reason"] for one in held}

    def ready(self) -> bool:
        """Whether it counts as ready, by ``/readyz``."""
        return bool(self._get("/readyz"))

    def readiness(self) -> str:
        """What ``/readyz`` says, whatever it is."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=5) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return error.read().decode()

    def live(self) -> bool:
        """Whether it counts as alive, by ``/healthz``."""
        return bool(self._get("/healthz"))

    @property
    def address(self) -> str | None:
        """``host:port`` of what it serves over HTTP; None as long as it does not."""
        if self._address is None:
            served = self.events("reports.served")
            self._address = str(served[-1]["address"]) if served else None
        return self._address

    def _get(self, path: str, **headers: str) -> str:
        if self.address is None:
            return ""
        try:
            request = urllib.request.Request(f"http://{self.address}{path}", headers=headers)
            with urllib.request.urlopen(request, timeout=5) as response:
                return str(response.read().decode())
        except (urllib.error.URLError, OSError):
            return ""

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        """Wait as `eventually` does; fail at once when the process has ended."""

        def met() -> bool:
            ended = not self.alive
            holds = bool(condition())
            assert holds or not ended, f"{what}: the member has ended with {self.code}; {self.tail()}"
            return holds

        eventually(what, met, explain=self.tail)

    def tail(self, lines: int = 40) -> str:
        """Return the end of its log, for messages."""
        text = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join([f"the end of {self.log.name}:", *(line[:600] for line in text)])

    # its life

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the driver."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        return self._process.returncode

    def processes(self) -> list[psutil.Process]:
        """Return every process of this member that still runs, the driver first."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.create_time() < self._began - _CLOCK_SECONDS:  # known, where the others have to be read
                    continue
                if process.status() != psutil.STATUS_ZOMBIE and self._is_of(process):
                    found.append(process)
            except (psutil.Error, ProcessLookupError):
                continue
        return sorted(found, key=lambda process: process.pid != self._process.pid)

    def _is_of(self, process: psutil.Process) -> bool:
        """Whether it was forked from the driver, or was begun with its environment, as the JVM is."""
        return os.getsid(process.pid) == self._process.pid or process.environ().get(_MARK) == str(self.log)

    def workers(self) -> list[psutil.Process]:
        """Return Spark's Python workers, their parent, the daemon, and what that was forked from."""
        others = (process for process in self.processes() if process.pid != self._process.pid)
        return [process for process in others if not _is_java(process)]

    def java(self) -> psutil.Process:
        """Return Spark's JVM."""
        (found,) = (process for process in self.processes() if _is_java(process))
        return found

    def wait_end(self) -> int:
        """Wait until the driver and all that it started have ended; return the exit code."""
        eventually("the member ends", lambda: not self.alive, explain=self.tail)
        self.wait_gone()
        assert self.code is not None
        return self.code

    def wait_gone(self) -> None:
        """Wait until no process of this member is left."""
        eventually("all processes of the member end", lambda: not self.processes(), explain=self.processes)
        reaper.forget(self._process.pid)

    def terminate(self) -> None:
        self._process.terminate()

    def stop(self) -> None:
        """Ask it to end, and wait until it has ended well."""
        self.terminate()
        assert self.wait_end() == 0

    def kill(self) -> None:
        """Kill -9 the driver; JVM and workers must end by themselves."""
        self._process.kill()
        self._process.wait()

    def kill_workers(self) -> None:
        """Kill -9 Spark's Python workers, as the kernel does when memory runs out."""
        _signal(self.workers(), signal.SIGKILL)

    def freeze_workers(self) -> None:
        """Stop Spark's Python workers: the member goes on, and what they do never ends."""
        _signal(self.workers(), signal.SIGSTOP)

    def freeze(self) -> None:
        """Stop the driver, then the rest, as a machine that stands still."""
        _signal(self.processes(), signal.SIGSTOP)

    def thaw(self) -> None:
        _signal(self.processes(), signal.SIGCONT)

    def clean_up(self) -> None:
        """Kill whatever is left, without asking."""
        _signal(self.processes(), signal.SIGKILL)
        self._process.wait()
        self.wait_gone()


def _begin(arguments: list[str], environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes] | Fork":
    log.touch()
    if not is_new(environment):
        return Fork(MEMBER, arguments, environment, log)
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(Path(sys.executable).with_name("logpersister")), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _is_java(process: psutil.Process) -> bool:
    try:
        return str(process.name()).startswith("java")
    except psutil.Error:  # has just ended
        return False


def _signal(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)
