"""``logpersister drain``: a member that ends, or a spool that is sent, by the kind of the manifest."""

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from logpersister.cli import brokers, check, collect, main, run
from logpersister.cli.exits import Exit
from logpersister.feeds.process import CollectorOptions
from logpersister.feeds.record import Record, encode
from logpersister.feeds.spool import Spool
from tests.unit.cli.test_collect import MANIFEST
from tests.unit.cli.test_run import written

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def feeds(tmp_path: Path) -> str:
    file = tmp_path / "feeds.yaml"
    file.write_text(MANIFEST.replace("  feeds:", "  shutdownGrace: 1s\n  feeds:"))
    return str(file)


@pytest.fixture
def spool(tmp_path: Path) -> str:
    with closing(Spool(tmp_path / "spool", 2**20, "dropOldest")):
        return str(tmp_path / "spool")


def test_of_a_group_it_is_a_member_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(check, "before_start", lambda *_, **__: None)
    monkeypatch.setattr(brokers, "reach", lambda *_: None)

    def member(_resource: Any, _secrets: Any, options: Any, *_: Any) -> int:
        said.append(options)
        return Exit.HELD

    monkeypatch.setattr(run, "run_member", member)
    assert main(["drain", "-f", written(tmp_path / "backup.yaml"), "--cores", "1"]) == Exit.HELD
    assert (said[0].until_current, said[0].member_name, said[0].cores) == (True, None, 1)


@pytest.mark.parametrize(("left", "code"), [(0, Exit.OK), (2, Exit.UNREACHABLE)])
def test_of_a_collector_it_sends_the_spool(
    feeds: str, spool: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture, left: int, code: Exit
) -> None:
    asked: list[CollectorOptions] = []

    def collector(_collector: Any, _secrets: Any, options: CollectorOptions) -> int:
        asked.append(options)
        return left

    monkeypatch.setattr(collect, "run_collector", collector)
    assert main(["drain", "-f", feeds, "--spool", spool]) == code
    assert (asked[0].drains, asked[0].spool) == (True, Path(spool))
    assert (f"2 records stayed in {spool}" in capsys.readouterr().err) == bool(left)


def test_an_empty_spool_needs_no_kafka_and_no_secret_of_a_feed(feeds: str, spool: str) -> None:
    assert main(["drain", "-f", feeds, "--spool", spool, "--log-level", "error"]) == Exit.OK


def test_kafka_that_takes_nothing_is_given_up(
    feeds: str, tmp_path: Path, capsys: Capture, filled: Callable[[Path], None]
) -> None:
    filled(tmp_path / "spool")
    assert main(["drain", "-f", feeds, "--spool", str(tmp_path / "spool"), "--log-level", "error"]) == Exit.UNREACHABLE
    assert "1 record stayed in" in capsys.readouterr().err
    for one in threading.enumerate():  # it goes on connecting until the process ends, and would tell another test so
        if one.name == "feeds-sender":
            one.join(60)
            assert not one.is_alive()


@pytest.fixture
def filled() -> Callable[[Path], None]:
    def fill(place: Path) -> None:
        with closing(Spool(place, 2**20, "dropOldest")) as one:
            one.append([encode(Record("prices", b"value", 1_790_000_000_000))])

    return fill


def test_a_spool_that_is_not_there_or_another_process_has(feeds: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["drain", "-f", feeds, "--spool", str(tmp_path / "none")]) == Exit.INVALID
    assert "there is none, so nothing can be sent" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    with closing(Spool(tmp_path / "taken", 2**20, "dropOldest")):
        assert main(["drain", "-f", feeds, "--spool", str(tmp_path / "taken")]) == Exit.INVALID
    assert "another process uses it; give each process its own" in capsys.readouterr().err
