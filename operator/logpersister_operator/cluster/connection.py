"""Connections to the API server: requests with a deadline, by the REST client of the package `kubernetes`."""

import copy
import json
import threading
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
import urllib3.exceptions
from kubernetes.client import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject

from logpersister_operator.cluster.access import Access, AccessError

CONNECTIONS: Final = 32
"""Connections that are kept open; more are made when more are needed at once."""
_RETRIES: Final = 3
"""Retries of a request that has not come through, or may come through twice: urllib3's own class."""
BUSY_SECONDS: Final = 1
"""How long a busy API server is waited for between them, whatever its Retry-After says: a thread sleeps meanwhile."""
JSON: Final = "application/json"
_SHOWN: Final = 40
"""Bytes of an answer that is not the API server's, in a message."""


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
        self._retries = urllib3.Retry(_RETRIES, redirect=False, retry_after_max=BUSY_SECONDS) if patient else False
        self._lock = threading.Lock()
        self._made: tuple[Configuration, RESTClientObject] | None = None

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
        try:
            configuration, client = self._client()
            headers = headers_of(self._access) | {"Content-Type": content_type}
            url = url_of(configuration, path, query)
            # What is applied is read as YAML, in which JSON's escapes of letters beyond U+FFFF are errors.
            sent = body if content_type.endswith("json") else json.dumps(body, ensure_ascii=False).encode()
            answer = client.request(method, url, headers=headers, body=sent, _request_timeout=seconds)
            content = answer.read()
            if answer.status == HTTPStatus.UNAUTHORIZED:
                self._access.renew(configuration)
        except (urllib3.exceptions.HTTPError, ApiException, AccessError, OSError) as error:
            raise ClusterError(f"{method} {path}: the API server did not answer: {error}") from error
        return content_of(f"{method} {path}", answer.status, content)

    def _client(self) -> tuple[Configuration, RESTClientObject]:
        configuration = self._access.configuration
        with self._lock:
            if self._made is None or self._made[0] is not configuration:
                ours = copy.copy(configuration)
                ours.retries, ours.connection_pool_maxsize = self._retries, CONNECTIONS
                self._made = configuration, RESTClientObject(ours)
            return self._made


def headers_of(access: Access) -> dict[str, str]:
    """Return the headers of each request; raises AccessError."""
    authorization = access.authorization()
    return {"Accept": JSON} | ({"Authorization": authorization} if authorization else {})


def url_of(configuration: Configuration, path: str, query: Mapping[str, str] | None) -> str:
    return f"{configuration.host}{path}" + ("?" + urlencode(query) if query else "")


def content_of(question: str, status: int, content: bytes) -> dict[str, Any]:
    """Return the document of an answer, empty when there is none; raises ClusterError for a refusal."""
    if 200 <= status < 300:
        try:
            return dict(json.loads(content)) if content else {}
        except (ValueError, TypeError) as error:  # a proxy's page of its own
            raise ClusterError(f"{question}: the answer is no object: {content[:_SHOWN]!r}") from error
    try:
        reason = f"{json.loads(content)['message']} ({status})"
    except (ValueError, KeyError, TypeError):
        reason = f"HTTP status {status}"
    raise ClusterError(f"{question}: {reason}", status)
