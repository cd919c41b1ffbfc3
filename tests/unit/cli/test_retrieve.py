"""What ``logpersister retrieve`` says to people, and that two do not write into one directory."""

import fcntl
import hashlib
import io
import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from logpersister.cli import bucket, main
from logpersister.cli.exits import Exit
from logpersister.cli.retrieve import _Progress
from logpersister.retrieve.fetching import Fetched, Fetcher, Outcome
from logpersister.storage.imprint import Imprint
from logpersister.storage.names import object_key
from tests.unit.cli.test_run import written
from tests.unit.replay.bucket import Bucket

Capture = pytest.CaptureFixture[str]


class Store(Bucket):
    def imprint(self, key: str) -> Imprint:
        content, metadata = self.objects[key]
        tag = "opaque" if content == b"opaque" else hashlib.md5(b"ab", usedforsecurity=False).hexdigest()
        return Imprint(metadata, len(content), tag)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    contents = {"a": b"ab", "b": b"opaque", "c": b"xy"}
    metadata = {topic: {"group": "backup"} for topic in contents}
    store = Store({object_key("raw", it, "", 1, 0, 0, ".txt"): (contents[it], metadata[it]) for it in contents})

    monkeypatch.setattr(bucket, "opened", lambda *_: nullcontext(store))
    manifest = written(tmp_path / "backup.yaml", kafka__topics=[*contents])
    return lambda *options: main(["retrieve", "-f", manifest, "--target", str(tmp_path / "out"), *options])


def test_for_people(run: Any, capsys: Capture, tmp_path: Path) -> None:
    assert run("--dry-run") == Exit.OK
    assert f"3 objects would be in {tmp_path / 'out'}; nothing was fetched" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
    assert run() == Exit.FAILED
    out, error = capsys.readouterr()
    lines = [line.split() for line in out.splitlines()]
    assert lines[0] == ["TOPIC", "FROM", "TO", "OBJECTS", "BYTES", "FETCHED", "HAD"]
    assert lines[3] == ["c", "-", "-", "1", "2", "B", "0", "0"]
    assert f"2 objects in {tmp_path / 'out'}, 0 of them before" in out
    assert "1 object not fetched\n1 object without a known checksum: only sizes were compared\n" in out
    assert "object 'raw/c/1_0_00000000000000000000.txt': what was read is not" in error


def test_another_command_holds_the_directory(run: Any, capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    held = os.open(tmp_path / "out", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert run() == Exit.FAILED
    assert "another command fetches into it" in capsys.readouterr().err
    os.close(held)
    assert run("--topics", "a") == Exit.OK


@pytest.mark.parametrize("terminal", [True, False])
def test_progress(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    clock = [0.0]
    out, now = io.StringIO(), SimpleNamespace(monotonic=lambda: clock[0])
    out.isatty = lambda: terminal  # type: ignore[method-assign]
    monkeypatch.setattr("logpersister.cli.retrieve.time", now)
    progress = _Progress(cast("Fetcher", SimpleNamespace(received=2048)), 3, 4096, out)
    progress.show()
    assert out.getvalue() == ""
    progress.add(Fetched("key", Outcome.HAD, 1024))
    clock[0] = 11
    progress.show()
    progress.close()
    line = "1 of 3 objects, 2.0 KiB fetched, 1.0 KiB there already, of 4.0 KiB"
    assert out.getvalue() == (f"\r\033[K{line}\r\033[K" if terminal else f"{line}\n")


def test_a_store_that_there_is_not_is_refused(run: Any, capsys: Capture) -> None:
    assert run("--store", "1") == Exit.INVALID
    assert "--store 1: there is no such store: spec.storage.copies has 0" in capsys.readouterr().err
