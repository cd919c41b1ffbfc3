import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from logpersister.cli import main
from logpersister.cli.exits import Exit
from logpersister.manifest.secrets import DIRECTORY_VARIABLE

HEAVY = (
    "pyspark",
    "boto3",
    "botocore",
    "kafka",
    "pyarrow",
    "numpy",
    "pydantic",
    "rich",
    "structlog",
    "prometheus_client",
)


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from logpersister.cli import main\n"
        "try:\n    main(['--help'])\n"
        "except SystemExit:\n    pass\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert "loaded: []" in done.stdout
    assert "exit codes:" in done.stdout


@pytest.mark.parametrize("command", ["check", "lag"])
def test_an_invalid_manifest_is_exit_2_and_one_line_a_problem(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(
        "apiVersion: logpersister.dev/v1alpha1\nkind: LogPersister\nmetadata: {name: x}\nspec: {members: 0}\n"
    )

    assert main([command, "-f", str(file)]) == Exit.INVALID
    captured = capsys.readouterr()
    assert captured.out == ""
    problems = captured.err.splitlines()
    assert len(problems) == 3
    assert all(line.startswith(f"{file}:") for line in problems)


def test_an_unreachable_broker_is_exit_3_and_never_a_lag_of_zero(
    manifest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lag", "-f", str(manifest), "--timeout", "3s"]) == Exit.UNREACHABLE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "127.0.0.1:" in captured.err
    assert "spec.kafka.bootstrapServers" in captured.err


def test_wrong_settings_are_not_waited_for(
    manifest: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)  # a shell of `make stack` has the Secret
    assert main(["run", "-f", str(manifest), "--wait", "1h"]) == Exit.UNREACHABLE
    captured = capsys.readouterr()
    assert "AWS_ACCESS_KEY_ID was not found" in captured.err
    assert "start.waits" not in captured.err


def test_output_that_nobody_reads_is_no_error() -> None:
    script = "import sys\nfrom logpersister.cli import main\nsys.exit(main(['version']))"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == Exit.OK


def test_output_that_has_no_room_is_told_in_a_line() -> None:
    script = "import sys\nfrom logpersister.cli import main\nsys.exit(main(['version']))"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
        )
    assert done.returncode == Exit.FAILED
    assert done.stderr == "the output cannot be written (No space left on device); make room where it goes\n"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_signal_ends_a_command_with_its_code(number: signal.Signals, code: int, tmp_path: Path) -> None:
    """A shell shows a process that SIGTERM has ended as 143, and starts those behind `&` without SIGINT."""
    pipe = tmp_path / "manifest"
    os.mkfifo(pipe)
    default = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script = f"{default}import sys\nfrom logpersister.cli import main\nsys.exit(main(['lag', '-f', {str(pipe)!r}]))"
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True)
    with process, pipe.open("w"):  # returns when the command has opened it, too
        process.send_signal(number)
        assert process.wait(timeout=60) == code
        assert process.stderr is not None
        assert process.stderr.read() == ""
