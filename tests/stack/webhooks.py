"""A server that takes what is posted to it, and answers as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.stack.http_server import Request, serving


@dataclass
class Receiver:
    """What was posted, and how it is answered."""

    url: str = ""
    posted: list[Request] = field(default_factory=list)
    answers: list[tuple[int, str]] = field(default_factory=lambda: [(204, "")])
    """Statuses with what is said, in turn; the last one for ever."""
    wait_seconds: float = 0.0
    """Until it answers."""
    closed: threading.Event = field(default_factory=threading.Event)

    def _take(self, posted: Request) -> tuple[int, bytes]:
        self.posted.append(posted)
        self.closed.wait(self.wait_seconds)
        status, said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return status, said.encode()


@contextmanager
def receiving(certificate: Path | None = None) -> Iterator[Receiver]:
    """Serve on loopback; with a certificate of localhost and its key in one file, by TLS."""
    found = Receiver()
    with serving(found._take, certificate) as url:
        found.url = f"{url if certificate is None else url.replace('127.0.0.1', 'localhost')}/folders"
        try:
            yield found
        finally:
            found.closed.set()
