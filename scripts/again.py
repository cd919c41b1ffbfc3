"""Plays tests, and in CI those of real parts that failed once more: ``again.py COMMAND ...``, a command of pytest.

CI has machines on which a broker may stand still for a minute. The second time each test is alone, in a new process
with servers of its own. What passes only then is told at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

TOLD = Path(__file__).resolve().parents[1] / ".cache" / "log" / "second-time.txt"
"""What passed only the second time since a run of CI began; its end shows it."""

_REAL_PARTS = ("tests/integration/", "tests/cluster/")
_ONCE = ("tests/integration/test_chaos.py",)
"""A promise that breaks in one of two runs is broken; trouble of its own the test sees to itself."""
_MOST = 8
"""Where more fail, something is broken."""
_TESTS_FAILED = 1


def main() -> int:
    """Return the exit code of pytest."""
    command = sys.argv[1:]
    if os.environ.get("CI") != "true":
        return subprocess.run(command, check=False).returncode
    with tempfile.TemporaryDirectory() as cache:
        command += ["-o", f"cache_dir={cache}"]
        code = subprocess.run(command, check=False).returncode
        failed = _failed(Path(cache))
        if code != _TESTS_FAILED or not may_be_played_again(failed, command):
            return code
        print(f"==> once more, {len(failed)} failed", flush=True)
        code = subprocess.run([*command, *_alone(command)], check=False).returncode
    if code == 0:
        _tell(failed)
    return code


def may_be_played_again(failed: Collection[str], command: Sequence[str]) -> bool:
    """Whether all tests were played and those that failed are few, and of real parts."""
    most = min([_MOST, *(int(option.partition("=")[2]) - 1 for option in command if option.startswith("--maxfail="))])
    forgivable = [test for test in failed if test.startswith(_REAL_PARTS) and not test.startswith(_ONCE)]
    return 0 < len(forgivable) == len(failed) <= most


def _failed(cache: Path) -> list[str]:
    file = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def _alone(command: Sequence[str]) -> list[str]:
    """Return the options to play only what failed, one test after another, and to add to the coverage."""
    append = ["--cov-append"] if "--cov" in command else []
    return ["--last-failed", "--last-failed-no-failures=none", "--numprocesses=0", "--dist=no", *append]


def _tell(tests: Sequence[str]) -> None:
    lines = [f"WARNING: passed only the second time: {test}" for test in tests]
    print("\n".join(lines), flush=True)
    TOLD.parent.mkdir(parents=True, exist_ok=True)
    with TOLD.open("a") as told:
        told.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
