"""`logpersister init`, on a real broker and a real S3 server: `check` accepts at once what it writes."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from logpersister.manifest import load
from tests.stack import KafkaBroker, MinioServer
from tests.stack.topics import produce

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Init = Callable[..., int]
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("logging_as_before")


@pytest.fixture
def init(kafka: KafkaBroker, minio: MinioServer, bucket: str, s3_secret: str) -> Init:
    """``init(*options)`` asks the session's servers."""

    def run(*options: str) -> int:
        servers = ["--bootstrap-servers", kafka.bootstrap, "--bucket", bucket, "--endpoint", minio.endpoint]
        return main(["init", *servers, "--s3-secret", s3_secret, *options])

    return run


def test_check_accepts_what_it_writes(
    init: Init, topic: Callable[..., str], kafka: KafkaBroker, bucket: str, tmp_path: Path, capsys: Capture
) -> None:
    one, two = topic(3), topic()
    produce(kafka.bootstrap, one, [b"x" * 100] * 20)
    file = tmp_path / "my.yaml"
    assert init("--topics", f"{two},{one},later", "--name", "mine", "--output", str(file)) == Exit.OK
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2 topics, 4 partitions" in captured.err
    assert "no such topic yet: later" in captured.err
    assert f"s3://{bucket}/raw/: can be listed, and is empty" in captured.err
    assert f"next: logpersister check -f {file}" in captured.err
    text = file.read_text()
    assert f"- {one} " in text
    assert "# 3 partitions, about 20 records, " in text
    assert load(file).spec.kafka.topics == (two, one, "later")

    assert main(["check", "-f", str(file)]) == Exit.OK
    assert "group     mine: new, nothing is committed" in capsys.readouterr().out
    assert init("--output", str(file)) == Exit.INVALID
    assert "the file exists" in capsys.readouterr().err
    assert file.read_text() == text


def test_all_topics_or_a_pattern_to_standard_output(
    init: Init, topic: Callable[..., str], s3: "S3Client", bucket: str, tmp_path: Path, capsys: Capture
) -> None:
    name = topic(2)
    s3.put_object(Bucket=bucket, Key="raw/other", Body=b"")
    assert init() == Exit.OK
    captured = capsys.readouterr()
    assert f"- {name} " in captured.out
    assert "__consumer_offsets" not in captured.out
    assert "has objects already" in captured.err
    file = tmp_path / "all.yaml"
    file.write_text(captured.out)
    assert main(["check", "-f", str(file)]) == Exit.OK
    capsys.readouterr()

    assert init("--pattern", f"^{name}$", "--prefix", "") == Exit.OK
    captured = capsys.readouterr()
    assert "# matches 1 topic now" in captured.out
    file.write_text(captured.out)
    assert load(file).spec.kafka.selects(name)
    assert load(file).spec.storage.prefix == ""
    assert init("--pattern", "^no-such-topic$") == Exit.OK
    assert "the pattern matches no topic yet" in capsys.readouterr().err
