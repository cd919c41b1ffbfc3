import argparse

import pytest

from logpersister.cli.arguments import cores, count, parser, seconds


@pytest.mark.parametrize(
    ("text", "expected"), [("10", 10), ("10s", 10), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5", 1.5)]
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "0", "-1s", "soon", "10 parsecs", "nan", "inf"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration; write for example 10s"):
        seconds(text)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "many"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number"):
        count(text)


def test_at_least_one_core() -> None:
    assert cores("3") == 3
    with pytest.raises(argparse.ArgumentTypeError, match="1 or more"):
        cores("0")


def test_commands_have_what_they_need() -> None:
    run = parser().parse_args(["run", "-f", "clicks.yaml", "--until-current", "--member-name", "a", "--http", ":8080"])
    assert (run.command, run.file, run.until_current, run.member_name, run.http) == (
        "run",
        "clicks.yaml",
        True,
        "a",
        ":8080",
    )
    assert (run.log_format, run.log_level, run.timeout, run.secrets_dir) == ("auto", "info", 10.0, None)
    assert parser().parse_args(["lag", "-f", "x", "--watch"]).watch == 5.0
    assert parser().parse_args(["lag", "-f", "x", "--watch", "500ms"]).watch == 0.5
    assert parser().parse_args(["lag", "-f", "x"]).watch is None


@pytest.mark.parametrize("argv", [[], ["check"], ["run", "-f"], ["lag", "-f", "x", "--timeout", "soon"], ["unknown"]])
def test_a_wrong_command_line_is_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(argv)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["check", "run", "lag", "ls", "verify", "version"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args([command, "--help"])
    assert ended.value.code == 0
    assert "usage: logpersister" in capsys.readouterr().out
