"""``logpersister collect``: what keeps it from starting is told in words, with exit code 2."""

from contextlib import closing
from pathlib import Path

import pytest

from logpersister.cli import main
from logpersister.feeds.spool import Spool

MANIFEST = """\
apiVersion: logpersister.dev/v1alpha1
kind: FeedCollector
metadata: {name: prices}
spec:
  kafka: {bootstrapServers: '127.0.0.1:1', topic: feeds}
  feeds:
    - {id: prices, url: 'http://127.0.0.1:1/?key=${secret:shop/key}', periodicity: 1h}
"""


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOGPERSISTER_SECRET_SHOP_KEY", "hidden")
    file = tmp_path / "feeds.yaml"
    file.write_text(MANIFEST)
    return file


def collect(manifest: Path, *options: str) -> int:
    return main(["collect", "-f", str(manifest), "--log-level", "error", *options])


def test_a_spool_of_another_process(manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Spool(tmp_path / "spool", 2**20, "dropOldest")):
        assert collect(manifest, "--spool", str(tmp_path / "spool")) == 2
    assert "spool: another process uses it; give each process its own" in capsys.readouterr().err


def test_a_spool_that_is_no_directory(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert collect(manifest, "--spool", str(manifest)) == 2
    assert "File exists; name a directory that can be written to" in capsys.readouterr().err


def test_an_address_that_cannot_be_served(manifest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert collect(manifest, "--spool", str(tmp_path / "spool"), "--http", "nowhere") == 2
    assert '--http "nowhere" is not an address' in capsys.readouterr().err


def test_a_check_names_a_secret_that_is_missing(
    manifest: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("LOGPERSISTER_SECRET_SHOP_KEY")
    assert collect(manifest, "--check") == 2
    assert capsys.readouterr().err.startswith("spec.feeds[0].url: names the Secret shop, whose key key was not found")


def test_another_kind_of_manifest(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest.write_text(MANIFEST.replace("FeedCollector", "LogPersister"))
    assert collect(manifest) == 2
    assert 'feeds.yaml:2: kind: "LogPersister" is not allowed here' in capsys.readouterr().err


def test_a_check_of_brokers_that_are_away_says_so_once(manifest: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["collect", "-f", str(manifest), "--check", "--timeout", "1s"]) == 3
    out, error = capsys.readouterr()
    assert "warning  feeds     prices: no connection came about" in out
    assert error == (
        "spec.kafka.bootstrapServers: 127.0.0.1:1: connection refused: nothing listens there; check the port, and that "
        "the broker runs\n"
    )
