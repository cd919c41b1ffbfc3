import argparse

import pytest

from logpersister.cli.argument_types import count, positive, seconds, size
from logpersister.cli.arguments import parser


@pytest.mark.parametrize(
    ("text", "expected"), [("10s", 10), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5s", 1.5), ("1m30s", 90)]
)
def test_durations(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "-1s", "soon", "10 parsecs", "nan", "infs", "30s1m"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a duration; write for example 15m, 1h30m or 90s"):
        seconds(text)


def test_a_duration_has_its_unit_and_is_not_zero(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["lag", "-f", "x", "--timeout", "5"])
    assert 'argument --timeout: "5" is not a duration; write 5s' in capsys.readouterr().err
    with pytest.raises(argparse.ArgumentTypeError, match="write for example 10s"):
        seconds("0s")


@pytest.mark.parametrize("text", ["", "-1", "1.5", "many"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number"):
        count(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1e9"])
def test_what_is_no_positive_number(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not a whole number, 1 or more"):
        positive(text)
    assert positive("1") == 1


@pytest.mark.parametrize("argv", [[], ["check"], ["run", "-f"], ["lag", "-f", "x", "--timeout", "soon"], ["unknown"]])
def test_a_wrong_command_line_is_exit_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(argv)
    assert ended.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "", "fast", "1.5", "-1"])
def test_what_is_no_size_says_how_to_write_one(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write for example 8Mi"):
        size(text)
