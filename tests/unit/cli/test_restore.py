"""What restore refuses before it connects."""

from pathlib import Path

import pytest
import yaml

from logpersister.cli import main
from logpersister.cli.exits import Exit
from tests.unit.manifest.documents import changed


@pytest.mark.parametrize(
    ("output", "options", "told"),
    [
        ({"text": {}}, [], "spec.output: text does not keep all of a record; restore reads output.kafka, and"),
        ({"sequencefile": {"key": "messagepack"}}, [], "spec.output: sequencefile does not keep all of a record"),
        ({"jsonl": {"kafkaColumns": ["offset"]}}, [], "has no key, timestamp, headers, so objects have not all"),
        ({"jsonl": {}}, ["--to", "nowhere"], "--to nowhere: "),
        ({"kafka": {}}, ["--rename", "orders=new"], "--rename: orders=new is not OLD=NEW with a topic of --topics"),
        ({"kafka": {}}, ["--rename", "clicks"], "--rename: clicks is not OLD=NEW"),
        ({"kafka": {}}, ["--rename", "clicks=views"], "--rename: two topics would become one"),
        ({"kafka": {}}, ["--to", "{file}"], "{file}: has no block kafka; write kafka: with bootstrapServers"),
        ({"kafka": {}}, ["--to", "nowhere"], "--to nowhere: spec.kafka.bootstrapServers: "),
        ({"kafka": {}}, ["--to", "nowhere"], "has an entry that is not an address"),
    ],
)
def test_what_is_refused_at_once(
    output: dict[str, object],
    options: list[str],
    told: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    logging_as_before: None,
) -> None:
    file = tmp_path / "backup.yaml"
    file.write_text(yaml.safe_dump(changed({"spec.output": output})))
    given = ["restore", "-f", str(file), "--to", "broker:1", "--topics", "clicks,views"]
    code = main([*given, *(option.format(file=file) for option in options)])
    assert (code, told.format(file=file) in capsys.readouterr().err) == (Exit.INVALID, True)


def test_a_table_that_cannot_be_written_is_told_before_anything_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_as_before: None
) -> None:
    file = tmp_path / "backup.yaml"
    file.write_text(yaml.safe_dump(changed({"spec.output": {"kafka": {}}})))
    options = ["--to", "broker:1", "--topics", "clicks", "--offsets", str(tmp_path)]
    assert main(["restore", "-f", str(file), *options]) == Exit.FAILED
    assert f"--offsets {tmp_path}: cannot be written (Is a directory)" in capsys.readouterr().err
