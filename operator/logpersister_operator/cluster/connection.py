"""Connections to the API server: requests with a deadline, and answers that are read line by line."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
import urllib3.exceptions

from logpersister_operator.cluster.access import Access

CONNECTIONS: Final = 32
"""That are kept open; more are made when more are needed at once."""
_RETRIES: Final = 3
"""Of a request that certainly has not come through, or may come through twice: urllib3's own rule."""
JSON: Final = "application/json"
_OK: Final = 200
_PIECE: Final = 1 << 16


class ClusterError(Exception):
    """The API server refused a request, or did not answer it.

    ``status`` is that of HTTP; 0 without an answer.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """The way to one API server. Thread-safe."""

    def __init__(self, access: Access, *, patient: bool = True) -> None:
        """Prepare; one that is not ``patient`` sends each request once: it is answered or has failed in time."""
        self._access = access
        retries = urllib3.Retry(_RETRIES) if patient else False
        self._pool = urllib3.PoolManager(maxsize=CONNECTIONS, retries=retries, ssl_context=access.ssl_context())

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        content_type: str = JSON,
        query: Mapping[str, str] | None = None,
        seconds: float,
    ) -> dict[str, Any]:
        """Return what the API server answers, empty when that is nothing; raises ClusterError."""
        headers = {"Accept": JSON} if body is None else {"Accept": JSON, "Content-Type": content_type}
        content = None if body is None else json.dumps(body).encode()
        url = self._url(path, query)
        limit = urllib3.Timeout(total=seconds)
        try:
            headers |= self._access.headers()
            answer = self._pool.urlopen(method, url, redirect=False, body=content, headers=headers, timeout=limit)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterError(f"{method} {path}: the API server did not answer: {error}") from error
        if not 200 <= answer.status < 300:
            raise ClusterError(f"{method} {path}: {_reason(answer.data, answer.status)}", answer.status)
        return dict(json.loads(answer.data)) if answer.data else {}

    @contextmanager
    def lines(self, path: str, query: Mapping[str, str], seconds: float) -> Iterator["Lines"]:
        """Ask for an answer that goes on; raises ClusterError, here and while it is read.

        Args:
            path: what is asked for.
            query: parameters of the question.
            seconds: the longest silence.
        """
        limit = urllib3.Timeout(connect=seconds, read=seconds)
        try:
            headers = {"Accept": JSON} | self._access.headers()
            answer = self._pool.urlopen(
                "GET", self._url(path, query), redirect=False, headers=headers, timeout=limit, preload_content=False
            )
            try:
                if answer.status != _OK:
                    raise ClusterError(f"GET {path}: {_reason(answer.data, answer.status)}", answer.status)
                yield Lines(answer)
            finally:
                answer.close()  # what is not read to its end cannot be used for another question
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterError(f"GET {path}: the API server did not answer: {error}") from error

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        return self._access.server + path + ("?" + urlencode(query) if query else "")


class Lines:
    """The lines of an answer that goes on."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        for piece in self._answer.stream(_PIECE, decode_content=False):
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line for line in whole if line)


def _reason(content: bytes, status: int) -> str:
    try:
        return f"{json.loads(content)['message']} ({status})"
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {status}"
