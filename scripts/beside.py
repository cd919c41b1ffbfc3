"""Runs a command with what others leave of the machine: ``beside.py COMMAND ...``. Its output comes in one piece, last.

Nice values alone do not see to that: Linux shares a machine evenly between sessions (``man 7 sched``, autogroups), and
servers of tests have sessions of their own. So the command gets its own session, and that one is nice.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

_NICE = 10
"""A tenth of what others get where all compute: enough for tests that wait for something of their own."""


def main() -> int:
    """Return the exit code of the command; when this is ended, the command and all that it has started are, too."""
    signal.signal(signal.SIGTERM, _exit)
    os.nice(_NICE)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            sys.argv[1:], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            with contextlib.suppress(OSError):  # there are no autogroups, and nice values are all that counts
                Path(f"/proc/{process.pid}/autogroup").write_text(str(_NICE))
            return process.wait()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()
            output.seek(0)
            sys.stdout.flush()
            shutil.copyfileobj(output, sys.stdout.buffer)
            sys.stdout.flush()


def _exit(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
