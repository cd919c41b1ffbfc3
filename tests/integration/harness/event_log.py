"""A log of JSON lines that is still being written."""

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class EventLog:
    """The events of a log file. Each line is parsed once, however often a waiting test asks."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._parsed_bytes = 0
        self._events: list[Event] = []

    def events(self, name: str | None = None, **fields: object) -> list[Event]:
        """Return the events so far, of this name and with these fields. Lines that are no JSON are skipped."""
        return [
            event
            for event in self._all()
            if name in (None, event.get("event")) and all(event.get(key) == value for key, value in fields.items())
        ]

    def _all(self) -> list[Event]:
        with self._lock, self._file.open("rb") as file:
            file.seek(self._parsed_bytes)
            new, newline, _ = file.read().rpartition(b"\n")  # the last line may be half written
            self._parsed_bytes += len(new) + len(newline)
            for line in new.decode(errors="replace").split("\n"):
                if line.startswith("{"):
                    with contextlib.suppress(json.JSONDecodeError):
                        self._events.append(json.loads(line))
            return list(self._events)
