"""What was done when, and what was seen: the story of one run."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the story."""

    seconds: float
    """Since the beginning."""
    time: str
    """Of the wall, RFC 3339 in UTC: to be found again in the logs of members and servers."""
    name: str
    message: str
    fields: Mapping[str, Any]

    def line(self) -> str:
        return f"[{self.seconds:6.1f} s] {self.name:<18} {self.message}"

    def document(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 3),
            "time": self.time,
            "event": self.name,
            "message": self.message,
            **self.fields,
        }


class Chronicle:
    """Events in their order; each is in the file (JSON lines) before anything else happens. Thread-safe."""

    def __init__(
        self,
        file: Path | None = None,
        *,
        echo: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.events: list[Event] = []
        self._file = file
        self._echo = echo
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self._clock() - self._began

    def tell(self, name: str, message: str, **fields: Any) -> None:
        """Note that something happened; ``fields`` are for programs that read the file."""
        with self._lock:
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            event = Event(self.seconds, now, name, message, fields)
            self.events.append(event)
            if self._file is not None:
                with self._file.open("a") as file:
                    file.write(json.dumps(event.document()) + "\n")
            self._echo(event.line())

    def story(self) -> str:
        return "\n".join(event.line() for event in self.events)
