"""Runs a command until all that it started has ended, too: ``python -m bench.whole COMMAND ...``.

The system accounts a process to its parent when that has waited for it. A member's JVM ends after the member, so it is
accounted to nobody unless a process takes it over.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Sequence

_PR_SET_CHILD_SUBREAPER = 36


def timed(command: Sequence[str]) -> tuple[float, float]:
    """Run a command, and what it starts, to the end; return seconds by the wall and of CPU. Raises RuntimeError."""
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "bench.whole", *command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def main() -> int:
    """Run the command of the command line; return what it ended with."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("the system does not hand over the processes of a process that has ended")
    code = subprocess.run(sys.argv[1:], check=False).returncode
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    return code


if __name__ == "__main__":
    sys.exit(main())
