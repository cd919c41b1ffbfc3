"""The servers and helpers that all integration tests stand on."""

import os
import re
import subprocess
import sys
from pathlib import Path

from logpersister.manifest import load
from tests.stack.__main__ import example
from tests.stack.artifacts import ROOT
from tests.stack.detached import STANDARD_PORTS, Stack


def test_the_stack_outlives_its_command_and_has_what_the_example_names(tmp_path: Path) -> None:
    spec = load(ROOT / "examples" / "clicks.yaml").spec
    assert [address.port for address in spec.kafka.addresses] == [STANDARD_PORTS["kafka"]]
    assert str(spec.storage.endpoint).endswith(f":{STANDARD_PORTS['seaweedfs']}")

    def stack(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tests.stack", f"--directory={tmp_path / 'stack'}", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, shown = stack("up")
    try:
        assert (code, stack("status")) == (0, (0, shown.split("\n", 1)[1]))
        assert re.search(r"(?m)^seaweedfs +http://127\.0\.0\.1:\d+ ", shown)
        code, refused = stack("up", "--s3=minio")
        assert (code, refused.splitlines()[-1]) == (
            1,
            "seaweedfs runs as the S3 server; `make stack-down` stops it, then start minio",
        )
        running = Stack(tmp_path / "stack")
        checked = subprocess.run(
            ["sh", "-c", example(running).format("check")],
            cwd=ROOT,
            env={**os.environ, "LOGPERSISTER_SECRETS_DIR": str(running.secrets_dir)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "2 topics, 7 partitions: clicks (4), orders (3)" in checked.stdout
        assert "warning" not in checked.stdout
    finally:
        assert stack("down")[0] == 0
    assert stack("status")[0] == 1
