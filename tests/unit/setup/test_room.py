"""What S3 servers need of a disk, and what is left when they have ended."""

import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.stack import MinioServer
from tests.stack.room import NoRoomError, require_room
from tests.stack.scratch import keep_logs_only


class Usage(NamedTuple):
    """As `shutil.disk_usage` returns it."""

    total: int
    used: int
    free: int


def test_a_full_disk_is_told_before_a_server_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(200_000, 98_500, 1_500))
    told = rf"the disk of {tmp_path} has 1,500 bytes free, and 2,000 are needed \(2%\): .* Make room, .*pytest-of-"
    with pytest.raises(NoRoomError, match=told):
        require_room(tmp_path / "not" / "yet")
    monkeypatch.setattr("tests.stack.artifacts.minio_binary", lambda *, optimised: Path("/bin/false"))
    with pytest.raises(NoRoomError):
        MinioServer(tmp_path / "minio").launch()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(200_000, 98_000, 2_000))
    require_room(tmp_path)


def test_logs_of_servers_stay(tmp_path: Path) -> None:
    for name in (
        "kafka-1/kafka-1.log",
        "kafka-1/data/clicks-0/00000000000000000000.log",
        "kafka-1/tmp/lz4.so",
        "a.log",
    ):
        file = tmp_path / "brokers" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    keep_logs_only(tmp_path / "brokers")
    left = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file())
    assert left == ["brokers/a.log", "brokers/kafka-1/kafka-1.log"]
