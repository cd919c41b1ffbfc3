from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaTimeoutError

from logpersister.cli import check, main, run
from logpersister.cli.exits import Exit

MANIFEST = """
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata: {name: backup}
spec: {kafka: {bootstrapServers: "b:1", topics: [clicks]}, storage: {bucket: logs}}
"""


@pytest.mark.usefixtures("logging_as_before")
def test_brokers_that_go_while_a_member_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(*arguments: Any) -> int:
        raise KafkaTimeoutError("Unable to bootstrap from ['b:1']")

    monkeypatch.setattr(check, "before_start", lambda *arguments: None)
    monkeypatch.setattr(run, "run_member", start)
    (tmp_path / "backup.yaml").write_text(MANIFEST)

    assert main(["run", "-f", str(tmp_path / "backup.yaml")]) == Exit.UNREACHABLE

    (line,) = capsys.readouterr().err.splitlines()
    assert "the brokers have gone since they were checked" in line
    assert "Unable to bootstrap" in line
