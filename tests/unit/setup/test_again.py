"""What CI plays once more, and what it never does."""

import sys
from pathlib import Path

import again
import pytest

_FAILS_ONCE = """
from pathlib import Path
import pytest

def test_of_a_server(tmp_path_factory):
    played = Path("played")
    first = not played.exists()
    played.touch()
    assert not first

def test_that_holds():
    with Path("held").open("a") as held:
        held.write("x")
"""


def play(monkeypatch: pytest.MonkeyPatch, folder: Path, ci: str = "true") -> int:
    test = folder / "tests" / "integration" / "test_it.py"
    test.parent.mkdir(parents=True)
    test.write_text(_FAILS_ONCE)
    (folder / "pytest.ini").touch()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CI", ci)
    monkeypatch.setattr(again, "TOLD", folder / "log" / "told.txt")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # it begins sooner
    plugins = ["-p", "xdist", "-p", "pytest_cov"]
    options = [*plugins, "--quiet", "--numprocesses=1", "--dist=loadfile", "--maxfail=3", "--cov", "tests"]
    monkeypatch.setattr(sys, "argv", ["again.py", sys.executable, "-m", "pytest", *options])
    return again.main()


@pytest.mark.slow
def test_what_fails_on_real_parts_is_played_again_and_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert play(monkeypatch, tmp_path) == 0
    assert "1 failed, 1 passed" in (told := capfd.readouterr().out)
    assert "1 passed" in told.partition("==> once more, 1 failed")[2]
    warning = "WARNING: passed only the second time: tests/integration/test_it.py::test_of_a_server\n"
    assert told.endswith(warning)
    assert again.TOLD.read_text() == warning
    assert (tmp_path / "held").read_text() == "x", "what passed is not played again"
    assert "100%" in told.rpartition("==> once more")[2], "coverage is that of both runs"


def test_what_is_broken_is_not_played_again() -> None:
    real = [f"tests/cluster/test_it.py::test_{number}" for number in range(9)]
    assert again.may_be_played_again(real[:8], [])
    assert not again.may_be_played_again(real, [])
    assert not again.may_be_played_again([], []), "something else than a test has failed"
    assert again.may_be_played_again(real[:3], ["--maxfail=4"])
    assert not again.may_be_played_again(real[:4], ["--maxfail=4"]), "the others were not played"
    assert not again.may_be_played_again([*real[:1], "tests/model/test_mutants.py::test_it"], [])
    assert not again.may_be_played_again(["tests/integration/test_chaos.py::test_it"], []), "broken once is broken"
