"""`make demo`, as a newcomer runs it: on the S3 server that is fetched in seconds."""

import json
import re
import subprocess
import sys
from pathlib import Path

from examples.produce_clicks import COUNTRIES
from tests.stack.artifacts import ROOT

_SECONDS = 600


def demo(directory: Path) -> str:
    command = [sys.executable, "-m", "examples.demo", "--records=2000", f"--directory={directory}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_step_is_a_line_and_the_end_shows_files_records_and_lag(tmp_path: Path) -> None:
    output = demo(tmp_path / "demo")
    log = tmp_path / "demo" / "member.log"
    head, files, records, lag, further = re.split(r"\n\n(?=What is|The first|Where to)", output)

    steps = dict(re.findall(r"(?m)^ +[0-9.]+ s  (.+?)  +(.+)$", head))
    assert len(steps) == len(head.splitlines()) == 5
    assert re.fullmatch(r"Kafka 127\.0\.0\.1:\d+, S3 http://127\.0\.0\.1:\d+", steps["start Kafka and S3"])
    assert steps["write sample records"] == "2,000 clicks and orders of two days"
    assert steps["logpersister lag"] == "2,000 records wait"
    run = re.fullmatch(r"(\d+) objects in s3://logs/raw/, log: (.+)", steps["logpersister run --until-current"])
    assert run
    assert run[2] == str(log)
    assert log.read_text()

    assert f"\n{run[1]} objects, " in files
    assert {json.loads(line)["country"] for line in records.splitlines()[1:]} <= set(COUNTRIES)
    assert "0 of 7 partitions behind: 0 records" in lag
    assert re.search(r"make stack .*\n.*docs/manifest\.md explains every field\n\nDone in \d+ s", further)
    assert log.read_text().splitlines()[0] not in output
    assert not re.search("minio|seaweed", output, re.IGNORECASE)  # whose S3 it is does not matter
