"""``logpersister run`` as users run it, for measurements that look at a member from outside."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import yaml

from bench.servers import Servers

STOP_SECONDS = 60


@contextmanager
def member(running: Servers, document: dict[str, Any]) -> Iterator[psutil.Popen]:
    """Run a member for the time of the block; only its warnings are shown."""
    file = running.folder / f"{document['metadata']['name']}.yaml"
    file.write_text(yaml.safe_dump(document))
    command = [sys.executable, "-m", "logpersister", "run", "-f", str(file), "--log-level", "warning"]
    process = psutil.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
            process.wait(STOP_SECONDS)


def raise_if_ended(process: psutil.Popen) -> None:
    """Raise RuntimeError when the member has ended."""
    if process.poll() is not None:
        raise RuntimeError(f"the member ended with {process.returncode}")
