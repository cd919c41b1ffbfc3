"""Runs a command as a named phase and says how long it took: ``timed.py NAME COMMAND ...``."""

from __future__ import annotations

import subprocess
import sys
import time


def main() -> int:
    """Return the exit code of the command."""
    name, *command = sys.argv[1:]
    print(f"==> {name}", flush=True)
    began = time.monotonic()
    try:
        code = subprocess.run(command, check=False).returncode
    except KeyboardInterrupt:
        return 130
    result = "ok" if code == 0 else f"FAILED (exit code {code})"
    print(f"<== {name}: {result}, {time.monotonic() - began:.1f} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
