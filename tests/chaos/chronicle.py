"""What was done when, and what was seen: the story of one run."""

import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Chronicle:
    """Events in their order; each is in the file (JSON lines) before anything else happens. Thread-safe."""

    def __init__(self, file: Path, *, echo: Callable[[str], None]) -> None:
        self._file = file
        self._echo = echo
        self._began = time.monotonic()
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self._began

    def tell(self, name: str, message: str, **fields: Any) -> None:
        """Note that something happened; ``fields`` are for programs that read the file.

        The time of the wall is there, too: to be found again in the logs of members and servers.
        """
        with self._lock:
            seconds, now = self.seconds, datetime.now(UTC).isoformat(timespec="milliseconds")
            event = {"seconds": round(seconds, 3), "time": now, "event": name, "message": message, **fields}
            with self._file.open("a") as file:
                file.write(json.dumps(event) + "\n")
            self._echo(f"[{seconds:6.1f} s] {name:<18} {message}")
