"""The servers of ``make stack``: they outlive the command that starts them, and keep addresses and data.

Process ids and ports are remembered in ``.cache/stack/state.json``. A process id alone may belong to somebody else
by now: it counts only together with the time at which its process started.
"""

import contextlib
import fcntl
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tests.stack.artifacts import CACHE
from tests.stack.kafka import KafkaBroker
from tests.stack.minio import MinioServer
from tests.stack.ports import free_port, is_free
from tests.stack.s3 import S3Server
from tests.stack.seaweedfs import SeaweedServer
from tests.stack.server import STOP_TIMEOUT, Server, ServerError

S3_SERVERS: dict[str, type[S3Server]] = {server.name: server for server in (SeaweedServer, MinioServer)}
"""What can be the S3 server, by name; the first one unless another is asked for."""

DIRECTORY = CACHE / "stack"
STANDARD_PORTS = {"kafka": 9092} | dict.fromkeys(S3_SERVERS, 9000)
"""Taken when they are free, so that manifests such as examples/clicks.yaml work as they are."""
_HEAP = "1g"


@dataclass(frozen=True, slots=True)
class Remembered:
    """One server of an earlier ``up``."""

    name: str
    pid: int
    started: float
    """Of the process, seconds since the epoch."""
    port: int

    def process(self) -> psutil.Process | None:
        """Return the process if it is still there."""
        try:
            process = psutil.Process(self.pid)
            same = process.create_time() == self.started and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return None
        return process if same else None


class Stack:
    """Kafka and an S3 server in ``directory``, started and stopped by different processes.

    ``s3`` is one of `S3_SERVERS`; unless it is said, the one of the former `up`.
    """

    def __init__(self, directory: Path = DIRECTORY, *, s3: str | None = None) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        ports = {name: port for name, port in STANDARD_PORTS.items() if is_free(port)}
        remembered = {entry.name: entry.port for entry in self._remembered()}
        ports |= remembered
        name = s3 or next((known for known in S3_SERVERS if known in remembered), SeaweedServer.name)
        self.kafka = KafkaBroker(directory / "kafka", port=ports.get("kafka"), heap=_HEAP)
        self.s3 = S3_SERVERS[name](directory / name, port=ports.get(name))

    def up(self) -> None:
        """Start what does not run, on the former port if that is free, and wait until both serve."""
        with self._lock():
            self.s3.write_secret(self.secrets_dir, "s3")
            alive = {entry.name: entry for entry in self._remembered() if entry.process()}
            if other := next((name for name in alive if name in S3_SERVERS and name != self.s3.name), None):
                raise ServerError(
                    f"{other} runs as the S3 server; `make stack-down` stops it, then start {self.s3.name}"
                )
            launched = [server for server in (self.kafka, self.s3) if server.name not in alive]
            for server in launched:
                if not is_free(server.port):
                    server.port = free_port()
                server.launch(detached=True)
                alive[server.name] = _remember(server)
                self._write(list(alive.values()))  # at once: what is interrupted now must be found later
            for server in launched:
                server.wait()

    def down(self, *, wipe: bool = False) -> None:
        """Stop both in their orderly way; ``wipe`` also forgets topics, buckets and ports."""
        with self._lock():
            processes = [process for entry in self._remembered() if (process := entry.process())]
            for process in processes:
                process.terminate()
            _, stubborn = psutil.wait_procs(processes, timeout=STOP_TIMEOUT)
            for process in stubborn:
                process.kill()
            if wipe:
                shutil.rmtree(self.directory)

    def alive(self) -> dict[str, bool]:
        """Return the name of each server and whether it runs."""
        running = {entry.name for entry in self._remembered() if entry.process()}
        return {server.name: server.name in running for server in (self.kafka, self.s3)}

    @property
    def secrets_dir(self) -> Path:
        """What ``$LOGPERSISTER_SECRETS_DIR`` must be for manifests with ``secretName: s3``."""
        return self.directory / "secrets"

    @property
    def _state(self) -> Path:
        return self.directory / "state.json"

    def _remembered(self) -> list[Remembered]:
        if not self._state.exists():
            return []
        return [Remembered(**entry) for entry in json.loads(self._state.read_text())]

    def _write(self, entries: list[Remembered]) -> None:
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps([asdict(entry) for entry in entries], indent=2))
        new.replace(self._state)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with (self.directory.parent / "stack.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _remember(server: Server) -> Remembered:
    return Remembered(server.name, server.pid, psutil.Process(server.pid).create_time(), server.port)
