"""A request to the server of a feed, its answer, and where it is redirected. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

MOST_REDIRECTS: Final = 10
_OF_BODIES: Final = ("content-type:", "content-encoding:")


@dataclass(frozen=True, slots=True)
class Request:
    """What a server is asked. Holds secrets, so it has no repr."""

    url: str = field(repr=False)
    timeout: float
    """Seconds, redirects included."""
    max_bytes: int
    headers: tuple[str, ...] = field(default=(), repr=False)
    """Lines, ``Name: value``."""
    body: bytes | None = field(default=None, repr=False)
    """None: it is asked by GET, else by POST."""
    proxy: str | None = field(default=None, repr=False)
    authority: str | None = None
    """Certificates of the CA as PEM; None: the public ones."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, or why nothing did."""

    status: int
    """0: there is no answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers by name in lower case; of repeated ones the last."""
    body: bytes = b""
    error: str | None = None
    """Why there is no whole answer."""
    seconds: float = 0.0
    redirect: str | None = None
    """Address that it redirects to."""


def redirected(request: Request, answer: Answer) -> Request | None:
    """Return the request to follow a redirect; None: the answer is the last one, or its address is none.

    What a manifest says in headers, and a body, are for the server that it names: another one gets neither, because
    they may hold secrets.
    """
    if answer.redirect is None or answer.error is not None or answer.status not in {301, 302, 303, 307, 308}:
        return None
    keeps_body = request.body is not None and answer.status in {307, 308}
    headers, body = request.headers, request.body
    there = _origin(answer.redirect)
    if there is None:
        return None
    if there != _origin(request.url):
        headers = tuple(line for line in headers if line.lower().startswith(("accept:", "user-agent:")))
        if keeps_body:
            return None
    if not keeps_body:
        body = None
        headers = tuple(line for line in headers if not line.lower().startswith(_OF_BODIES))
    left = max(0.001, request.timeout - answer.seconds)
    return replace(request, url=answer.redirect, headers=headers, body=body, timeout=left)


def _origin(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme.lower(), parts.hostname, port or {"http": 80, "https": 443}.get(parts.scheme.lower())
