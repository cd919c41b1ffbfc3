"""Runs a command as a named stage and says how long it took: ``timed.py NAME COMMAND ...``.

In CI a stage fails that took longer than its limit, so that nobody has to notice that it grew.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

LIMITS = {
    "setup": 2000,
    "static": 600,
    "rust": 1500,
    "integration": 3400,
    "prepare-cluster": 3600,
    "cluster": 2400,
    "pure": 2600,
    "browser": 900,
    "all": 5300,
}
"""Seconds. Two to four times what a quiet machine with two cores takes, with all caches empty: some are that slow.

CONTRIBUTING.md has what was measured.
"""
EXPECTED = {"all": 2100}
"""Seconds, beyond which there is a warning."""


def main() -> int:
    """Return the exit code of the command; 1 when it took too long."""
    name, *command = sys.argv[1:]
    print(f"==> {name}", flush=True)
    began = time.monotonic()
    try:
        code = subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 130
    seconds = time.monotonic() - began
    failure = f"exit code {code}" if code else (too_long(name, seconds) if os.environ.get("CI") == "true" else "")
    result = f"FAILED ({failure})" if failure else "ok"
    print(f"<== {name}: {result}, {seconds:.1f} s", flush=True)
    if seconds > EXPECTED.get(name, seconds):
        print(f"WARNING: {name} took {seconds:.0f} s; it should take less than {EXPECTED[name]} s", flush=True)
    return code or (1 if failure else 0)


def too_long(name: str, seconds: float) -> str:
    """Return what is wrong with how long a stage took; nothing when nothing is."""
    limit = LIMITS[name]
    if seconds <= limit:
        return ""
    return f"longer than its limit of {limit} s: make it cheaper, or raise it in scripts/timed.py"


if __name__ == "__main__":
    sys.exit(main())
