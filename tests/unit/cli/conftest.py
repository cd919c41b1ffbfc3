"""A manifest whose servers do not answer, and logging as it was before."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _logging(logging_as_before: None) -> None:
    """Commands set up logging for the whole process."""


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is forked from the process that runs the tests."""
    monkeypatch.setattr("logpersister.cli.run.fork_early", lambda _spark: None)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port of this machine that refuses connections: bound, and not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def manifest(tmp_path: Path, closed_port: int) -> Path:
    file = tmp_path / "clicks.yaml"
    file.write_text(f"""
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata: {{name: clicks-backup}}
spec:
  kafka: {{bootstrapServers: "127.0.0.1:{closed_port}", topics: [clicks]}}
  storage: {{bucket: logs, endpoint: "http://127.0.0.1:{closed_port}", secretName: s3}}
""")
    return file
