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
from tests.stack.server import STOP_TIMEOUT, Server

DIRECTORY = CACHE / "stack"
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
    """Kafka and MinIO in ``directory``, started and stopped by different processes."""

    def __init__(self, directory: Path = DIRECTORY) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        ports = {entry.name: entry.port for entry in self._remembered()}
        self.kafka = KafkaBroker(directory / "kafka", port=ports.get("kafka"), heap=_HEAP)
        self.minio = MinioServer(directory / "minio", port=ports.get("minio"))

    def up(self) -> None:
        """Start what does not run, on the former port if that is free, and wait until both serve."""
        with self._lock():
            self.minio.write_secret(self.secrets_dir, "s3")
            alive = {entry.name: entry for entry in self._remembered() if entry.process()}
            launched = [server for server in (self.kafka, self.minio) if server.name not in alive]
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
        return {server.name: server.name in running for server in (self.kafka, self.minio)}

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
