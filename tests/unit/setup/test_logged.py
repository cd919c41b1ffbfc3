"""Commands of set-up: what is left of them when it is interrupted."""

import threading
from pathlib import Path

import logged
import pytest


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(logged, "LOGS", tmp_path)
    monkeypatch.setattr(logged, "stopped", threading.Event())
    return tmp_path


def test_a_command_that_fails_shows_the_end_of_its_log(logs: Path) -> None:
    with pytest.raises(logged.FailedError, match=r"(?s)sh ended with exit code 3.*one\.log.*    no compiler$"):
        logged.run("one", ["sh", "-c", "echo no compiler; exit 3"])


def test_what_is_stopped_ends_with_all_that_it_has_started(logs: Path) -> None:
    pipe = logs / "pipe"
    errors: list[logged.FailedError] = []

    def build() -> None:
        try:
            logged.run(
                "installer", ["sh", "-c", f"mkfifo {pipe} && touch {pipe}.made && sh -c 'sleep 600 > {pipe}'; true"]
            )
        except logged.FailedError as error:
            errors.append(error)

    logged.begin("installer")
    thread = threading.Thread(target=build)
    thread.start()
    while not Path(f"{pipe}.made").exists():
        assert thread.is_alive()
    with pipe.open() as compiler:  # opens when the compiler has it open, and ends when the compiler has ended
        logged.stop()
        assert compiler.read() == ""
    thread.join()
    assert "exit code" in str(errors[0])
    with pytest.raises(logged.FailedError, match="true was not started"):
        logged.run("next", ["true"])
