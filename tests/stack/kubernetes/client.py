"""A client of the API server as thin as can be: documents in, documents out, one connection."""

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.stack.processes import ClosedAtEnd

Document = dict[str, Any]


class Refused(Exception):  # noqa: N818 -- an answer, not a mishap
    """The API server said no."""

    def __init__(self, status: Document) -> None:
        super().__init__(status.get("message", status))
        self.code = int(status.get("code", 0))
        self.causes = [
            Cause(cause.get("reason", ""), cause.get("message", ""), cause.get("field", ""))
            for cause in (status.get("details") or {}).get("causes") or ()
        ]


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong with a document."""

    reason: str
    """Such as ``FieldValueInvalid``."""
    message: str
    field: str
    """Such as ``spec.kafka.topics[0]``."""


class Client(ClosedAtEnd):
    """Requests one after another."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext) -> None:
        self._connection = http.client.HTTPSConnection(host, port, context=context, timeout=30)

    def get(self, path: str, **query: str) -> Document:
        return self.request("GET", path, query=query)

    def create(self, path: str, document: Mapping[str, Any], **query: str) -> Document:
        """Create in the collection at ``path``; unknown and repeated fields are refused, as kubectl does it."""
        return self.request("POST", path, document, query={"fieldValidation": "Strict", **query})

    def replace(self, path: str, document: Mapping[str, Any], **query: str) -> Document:
        """Put a whole object in place of what is at ``path``."""
        return self.request("PUT", path, document, query={"fieldValidation": "Strict", **query})

    def apply(self, path: str, document: Mapping[str, Any], *, manager: str = "test", **query: str) -> Document:
        """Server-side apply."""
        query = {"fieldValidation": "Strict", "fieldManager": manager, "force": "true", **query}
        return self.request("PATCH", path, document, content_type="application/apply-patch+yaml", query=query)

    def delete(self, path: str, **query: str) -> Document:
        return self.request("DELETE", path, query=query)

    def request(
        self,
        method: str,
        path: str,
        document: Mapping[str, Any] | None = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Document:
        """Return the answer; raise `Refused` when it is no."""
        # Applied as YAML, in which JSON's escapes of letters beyond U+FFFF are none.
        body = None if document is None else json.dumps(document, ensure_ascii=False).encode()
        headers = {"Accept": "application/json", "Content-Type": content_type}
        url = f"{path}?{urlencode(query)}" if query else path
        idle = self._connection.sock is not None
        try:
            response, content = self._send(method, url, body, headers)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
            self._connection.close()
            if not idle:
                raise
            # The server had closed a connection that nobody used: it has not seen the request.
            response, content = self._send(method, url, body, headers)
        answer: Document = json.loads(content) if content.startswith(b"{") else {"message": content.decode()}
        if not 200 <= response.status < 300:
            raise Refused({"code": response.status} | answer)
        return answer

    def _send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        self._connection.request(method, url, body, dict(headers))
        response = self._connection.getresponse()
        return response, response.read()

    def close(self) -> None:
        self._connection.close()
