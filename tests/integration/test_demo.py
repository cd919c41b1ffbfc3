"""`make demo`, as a newcomer runs it: on the S3 server that is fetched in seconds."""

import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from examples.demo import PLACE
from examples.produce_clicks import COUNTRIES, history
from tests.pages import DOCS
from tests.stack.artifacts import ROOT

_SECONDS = 600
_RECORDING = re.compile(r"```console\n\$ make demo\n(.*?)```", re.DOTALL)
_REPLAY = re.compile(r"```console\n\$ make demo ARGS=replay\n(.*?)```", re.DOTALL)
_FEEDS = re.compile(r"```console\n\$ make demo ARGS=feeds\n(.*?)```", re.DOTALL)
_SIZE = re.compile(r"0 ?(?:B|[KMGT]iB)\b")
_AGE = re.compile(r"\b(?:0[dhms])+\b")


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "demo"


@pytest.fixture(scope="module")
def output(directory: Path) -> str:
    return demo(directory)


def demo(directory: Path, *kind: str) -> str:
    """Return what it writes to a terminal."""
    command = [sys.executable, "-m", "examples.demo", *kind, "--records=2000", f"--directory={directory}"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=_SECONDS
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_each_step_is_a_line_and_the_end_shows_files_records_and_lag(output: str, directory: Path) -> None:
    log = directory / "member.log"
    head, files, records, lag, query, further = re.split(r"\n\n(?=What is|The first|A query|Where to)", output)

    steps = dict(re.findall(r"(?m)^ +[0-9.]+ s  (.+?)  +(.+)$", head))
    assert len(steps) == len(head.splitlines()) == 6
    assert re.fullmatch(r"Kafka 127\.0\.0\.1:\d+, S3 http://127\.0\.0\.1:\d+", steps["start Kafka and S3"])
    assert steps["write sample records"] == "2,000 clicks and orders of two days"
    assert steps["logpersister lag"] == "2,000 records wait"
    run = re.fullmatch(r"(\d+) objects in s3://logs/raw/, log: (.+)", steps["logpersister run --until-current"])
    assert run
    assert run[2] == str(log)
    assert log.read_text()

    assert f"\n{run[1]} objects, " in files
    assert {json.loads(line)["country"] for line in records.splitlines()[2:]} <= set(COUNTRIES)
    assert "0 of 7 partitions behind: 0 records" in lag
    clicks = {country: int(count) for country, count in re.findall(r"(?m)^([A-Z]{2}) +(\d+) +[0-9.]+$", query)}
    assert clicks.keys() == set(COUNTRIES)
    assert sum(clicks.values()) == sum(event.topic == "clicks" for event in history(2000, until=0, days=2))
    assert re.search(r"make stack .*\n.*docs/manifest\.md explains every field\n\nDone in \d+ s", further)
    assert log.read_text().splitlines()[0] not in output
    assert not re.search("minio|seaweed", output, re.IGNORECASE)  # whose S3 it is does not matter


def test_the_recording_on_the_page_is_true(output: str, directory: Path) -> None:
    """Except for numbers, for how many lines of one kind there are, and for what it leaves out."""
    recorded = _RECORDING.search((DOCS / "demo.md").read_text())
    assert recorded
    assert not_printed(shape(recorded[1]), shape(output.replace(str(directory), str(PLACE.relative_to(ROOT))))) == []


@pytest.mark.soak  # tests/integration/test_replay.py and test_feeds.py play the same
@pytest.mark.parametrize(("what", "recording"), [("replay", _REPLAY), ("feeds", _FEEDS)], ids=["replay", "feeds"])
def test_the_other_recordings_are_true(directory: Path, what: str, recording: "re.Pattern[str]") -> None:
    """Feeds compare what comes back with what was served, and fail where something is missing."""
    place = directory / what
    recorded = recording.search((DOCS / "demo.md").read_text())
    assert recorded
    output = demo(place, what).replace(str(place), str(PLACE.relative_to(ROOT)))
    assert not_printed(shape(recorded[1]), shape(output)) == []


def not_printed(recorded: list[str], printed: list[str]) -> list[str]:
    """Return the recorded lines, from the first one on that was not printed behind those before it."""
    rest = iter(printed)
    return [line for line in recorded if line != "…" and line not in rest]


def shape(text: str) -> list[str]:
    """Return the lines without numbers, units, countries, values of JSON and widths; equal neighbours once."""
    lines = []
    for line in text.strip().splitlines():
        fields = f"JSON {list(json.loads(line))}" if line.startswith("{") else line
        numbers = re.sub(r"\d[\d,.]*", "0", re.sub(r"^[A-Z]{2} ", "COUNTRY ", fields))
        lines.append(" ".join(_AGE.sub("0s", _SIZE.sub("0 B", numbers)).split()))
    return [line for line, _ in groupby(lines)]
