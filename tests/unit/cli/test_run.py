from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka.errors import KafkaTimeoutError

from logpersister.cli import brokers, check, main, run
from logpersister.cli.exits import Exit, UnreachableError

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

    monkeypatch.setattr(check, "before_start", lambda *arguments, **options: None)
    monkeypatch.setattr(run, "run_member", start)
    (tmp_path / "backup.yaml").write_text(MANIFEST)

    assert main(["run", "-f", str(tmp_path / "backup.yaml")]) == Exit.UNREACHABLE

    (line,) = capsys.readouterr().err.splitlines()
    assert "the brokers became unreachable after the check" in line
    assert "Unable to bootstrap" in line


SHADOW = """
apiVersion: logpersister.dev/v1alpha1
kind: LogPersister
metadata: {name: backup}
spec:
  kafka: {bootstrapServers: "b:1", topics: [clicks], groupId: GROUP}
  storage: {bucket: logs, prefix: PREFIX}
"""


@pytest.mark.usefixtures("logging_as_before")
@pytest.mark.parametrize(
    ("group", "prefix", "options", "message"),
    [
        ("shadow", "shadow", [], None),
        ("backup", "shadow", [], "has the same group backup; give the shadow another"),
        ("shadow", '""', [], "writes below the same prefix; give the shadow another"),
        ("shadow", "shadow", ["--until-current"], "--shadow-of does not end; leave out --until-current"),
    ],
)
def test_a_shadow_has_nothing_in_common_with_what_it_shadows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    group: str,
    prefix: str,
    options: list[str],
    message: str | None,
) -> None:
    started: list[Any] = []

    def start(resource: Any, secrets: Any, chosen: Any) -> int:
        started.append(chosen)
        return Exit.OK

    monkeypatch.setattr(check, "before_start", lambda *arguments, **options: None)
    monkeypatch.setattr(brokers, "reach", lambda *arguments: None)
    monkeypatch.setattr(run, "run_member", start)
    (tmp_path / "old.yaml").write_text(MANIFEST)
    (tmp_path / "new.yaml").write_text(SHADOW.replace("GROUP", group).replace("PREFIX", prefix))

    code = main(["run", "-f", str(tmp_path / "new.yaml"), "--shadow-of", str(tmp_path / "old.yaml"), *options])

    if message is None:
        assert (code, [one.shadow_of.group_id for one in started]) == (Exit.OK, ["backup"])
    else:
        assert (code, started) == (Exit.INVALID, [])
        assert message in capsys.readouterr().err


@pytest.mark.usefixtures("logging_as_before")
def test_a_manifest_to_shadow_that_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "new.yaml").write_text(SHADOW.replace("GROUP", "shadow").replace("PREFIX", "shadow"))
    code = main(["run", "-f", str(tmp_path / "new.yaml"), "--shadow-of", str(tmp_path / "old.yaml")])
    assert code == Exit.INVALID
    assert "old.yaml: cannot be read" in capsys.readouterr().err


@pytest.mark.usefixtures("logging_as_before")
def test_a_broker_of_the_old_revision_that_cannot_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def reach(*arguments: Any) -> None:
        raise UnreachableError("spec.kafka: no broker answers")

    monkeypatch.setattr(check, "before_start", lambda *arguments, **options: None)
    monkeypatch.setattr(brokers, "reach", reach)
    (tmp_path / "old.yaml").write_text(MANIFEST)
    (tmp_path / "new.yaml").write_text(SHADOW.replace("GROUP", "shadow").replace("PREFIX", "shadow"))
    code = main(["run", "-f", str(tmp_path / "new.yaml"), "--shadow-of", str(tmp_path / "old.yaml")])
    assert code == Exit.UNREACHABLE
    assert "old.yaml: spec.kafka: no broker answers" in capsys.readouterr().err


@pytest.mark.usefixtures("logging_as_before")
def test_neither_a_shadow_nor_a_replay_goes_past_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = yaml.safe_load(SHADOW.replace("GROUP", "shadow").replace("PREFIX", "shadow"))
    catalog = {"type": "rest", "uri": "https://catalog.example.com"}
    manifest["spec"] |= {"output": {"format": "parquet"}, "table": {"format": "iceberg", "catalog": catalog}}
    manifest["spec"]["table"]["name"] = "lake.{topic}"
    (tmp_path / "new.yaml").write_text(yaml.safe_dump(manifest))
    code = main(["run", "-f", str(tmp_path / "new.yaml"), "--shadow-of", str(tmp_path / "old.yaml")])
    assert code == Exit.INVALID
    assert "spec.table: a shadow has no table" in capsys.readouterr().err
    assert main(["quarantine", "replay", "-f", str(tmp_path / "new.yaml")]) == Exit.INVALID
    assert "the objects of a replay would not be in the table" in capsys.readouterr().err
