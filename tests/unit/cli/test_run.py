from pathlib import Path
from typing import Any

import pytest
import yaml
from kafka.errors import KafkaTimeoutError

from logpersister.cli import brokers, check, main, run
from logpersister.cli.exits import Exit
from tests.unit.manifest.documents import changed

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "before_start", lambda *arguments, **options: None)
    monkeypatch.setattr(brokers, "reach", lambda *arguments: None)


def written(file: Path, **changes: Any) -> str:
    """Write a manifest of group backup, with changes of fields of spec by their names with underscores for dots."""
    dotted = {f"spec.{name.replace('__', '.')}": value for name, value in changes.items()}
    file.write_text(yaml.safe_dump(changed({"spec.kafka.groupId": "backup", **dotted})))
    return str(file)


def run_shadow(tmp_path: Path, *options: str, group: str = "shadow", prefix: str = "shadow", **changes: Any) -> int:
    new = written(tmp_path / "new.yaml", kafka__groupId=group, storage__prefix=prefix, **changes)
    return main(["run", "-f", new, "--shadow-of", str(tmp_path / "old.yaml"), *options])


def test_brokers_that_go_while_a_member_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def start(*arguments: Any) -> int:
        raise KafkaTimeoutError("Unable to bootstrap from ['b:1']")

    monkeypatch.setattr(run, "run_member", start)
    assert main(["run", "-f", written(tmp_path / "backup.yaml")]) == Exit.UNREACHABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert "the brokers became unreachable after the check" in line
    assert "Unable to bootstrap" in line


@pytest.mark.parametrize(
    ("group", "prefix", "options", "message"),
    [
        ("shadow", "shadow", [], None),
        ("backup", "shadow", [], "has the same group backup; give the shadow another"),
        ("shadow", "", [], "writes below the same prefix; give the shadow another"),
        ("shadow", "shadow", ["--until-current"], "--shadow-of does not end; leave out --until-current"),
    ],
)
def test_a_shadow_has_nothing_in_common_with_what_it_shadows(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    group: str,
    prefix: str,
    options: list[str],
    message: str | None,
) -> None:
    started: list[Any] = []

    def start(resource: Any, secrets: Any, chosen: Any) -> int:
        started.append(chosen)
        return Exit.OK

    monkeypatch.setattr(run, "run_member", start)
    written(tmp_path / "old.yaml")
    code = run_shadow(tmp_path, *options, group=group, prefix=prefix)
    if message is None:
        assert (code, [one.shadow_of.group_id for one in started]) == (Exit.OK, ["backup"])
    else:
        assert (code, started) == (Exit.INVALID, [])
        assert message in capsys.readouterr().err


def test_neither_a_shadow_nor_a_replay_goes_past_a_table(tmp_path: Path, capsys: Capture) -> None:
    catalog = {"type": "rest", "uri": "https://catalog.example.com"}
    table = {"format": "iceberg", "catalog": catalog, "name": "lake.{topic}"}
    assert run_shadow(tmp_path, output={"parquet": {}}, table=table) == Exit.INVALID
    assert "spec.table: a shadow has no table" in capsys.readouterr().err
    assert main(["quarantine", "replay", "-f", str(tmp_path / "new.yaml")]) == Exit.INVALID
    assert "the objects of a replay would not be in the table" in capsys.readouterr().err
