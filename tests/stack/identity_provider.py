"""An identity provider on loopback that issues tokens for client credentials (RFC 6749, 4.4), as it is told."""

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from tests.stack.http_server import Request, serving


@dataclass
class IdentityProvider:
    """What it answers, and what it was asked."""

    url: str = ""
    status: int = 200
    answer: object = field(default_factory=lambda: {"access_token": "token-{n}", "expires_in": 100})
    """JSON; ``{n}`` in it becomes the number of the request, from 1 on."""
    token: Callable[[], str] | None = None
    """Makes the access token of each answer, in place of the one in `answer`."""
    basic_only: str | None = None
    """Login ``id:secret``, form-encoded, that it takes as HTTP Basic and in no other way; None: it takes any form."""
    asked: list[dict[str, list[str]]] = field(default_factory=list)
    """The forms that were sent."""
    times: list[float] = field(default_factory=list)
    """When, by `time.monotonic`."""

    def _respond(self, request: Request) -> tuple[int, bytes]:
        self.times.append(time.monotonic())
        self.asked.append(parse_qs(request.body.decode()))
        login = None if self.basic_only is None else f"Basic {b64encode(self.basic_only.encode()).decode()}"
        if login not in (None, request.headers.get("authorization")):
            return 401, b'{"error": "invalid_client"}'
        answer = self.answer
        if self.token is not None and isinstance(answer, dict):
            answer = {**answer, "access_token": self.token()}
        return self.status, json.dumps(answer).replace("{n}", str(len(self.asked))).encode()


@contextmanager
def identity_provider() -> Iterator[IdentityProvider]:
    """Serve until the end of the block."""
    provider = IdentityProvider()
    with serving(provider._respond) as url:
        provider.url = f"{url}/token"
        yield provider
