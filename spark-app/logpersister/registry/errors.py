"""Errors of a schema registry, in few kinds, each with a remedy. Messages never hold a secret."""

import socket
import ssl
from collections.abc import Iterator
from typing import Any, Final, Literal

from urllib3 import exceptions as http

RegistryErrorKind = Literal[
    "unreachable", "timeout", "unauthorized", "unknown", "unsupported", "throttled", "rejected", "other"
]
"""Stable words for metrics and status:

``unreachable``   no connection, or it broke: address, network, TLS
``timeout``       it was reached, but did not answer in time
``unauthorized``  no or wrong credentials, or they do not allow the request
``unknown``       the registry itself says that it has no such subject, version or id
``unsupported``   it has no answer to such a question, and answers others
``throttled``     it asks for fewer requests
``rejected``      it refuses the request, or what answers is no schema registry: repeating alone does not help
``other``         an error inside the registry
"""

RETRIABLE: Final[frozenset[str]] = frozenset({"unreachable", "timeout", "throttled", "other"})

REMEDIES: Final[dict[RegistryErrorKind, str]] = {
    "unreachable": "check the url, and the network between here and there",
    "timeout": "check the load of the registry and the network between here and there",
    "unauthorized": "check the login in the Secret that secretName of its registry names (schema infer: "
    "--registry-secret; AWS Glue: without one, the role of this process), and that it may read subjects and schemas",
    "unknown": "check the name of the subject, and that this is the registry that the producers use",
    "unsupported": "use a registry that knows GUIDs, as Confluent's does, or set value.schema.id.serializer (or key.…) "
    "of the producers to PrefixSchemaIdSerializer (docs/schemas.md#headers)",
    "throttled": "nothing to do if it passes",
    "rejected": "check the url: it must be what producers have as schema.registry.url",
    "other": "see what the registry says, and its own logs",
}

UNKNOWN_CODES: Final = frozenset({40401, 40402, 40403})
"""Error codes of Confluent's API: no such subject, version, schema. A 404 without one of them has another cause."""


class RegistryError(Exception):
    """A request to the registry that failed, after the retries that made sense."""

    def __init__(self, kind: RegistryErrorKind, message: str) -> None:
        super().__init__(message)
        self.kind: RegistryErrorKind = kind

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed later without anybody changing anything."""
        return self.kind in RETRIABLE

    def __reduce__(self) -> tuple[Any, ...]:
        return RegistryError, (self.kind, str(self))


def failure(url: str, kind: RegistryErrorKind, reason: str, doing: str) -> RegistryError:
    """Return the error of a request; `doing` continues the words "while", for example ``asking for schema 7``."""
    return RegistryError(kind, f"schema registry {url}: {reason} ({doing}); {REMEDIES[kind]}")


def of_connection(cause: http.HTTPError) -> tuple[RegistryErrorKind, str]:
    """Return the kind of an error of urllib3, and what happened in words."""
    # That no connection came about is a timeout to urllib3, whatever the reason.
    if isinstance(cause, http.TimeoutError) and not isinstance(cause, http.NewConnectionError):
        return "timeout", "it did not answer in time"
    for reason in _chain(cause):
        if isinstance(reason, ssl.SSLCertVerificationError):
            return "unreachable", f"its certificate is not trusted ({reason.verify_message}); ca.crt belongs there too"
        if isinstance(reason, ssl.SSLError) and reason.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"}:
            return "unreachable", "the url is https, and the server there speaks plain http"
        if isinstance(reason, socket.gaierror):
            return "unreachable", f"its name does not resolve ({reason.strerror})"
        if isinstance(reason, OSError) and reason.strerror:
            return "unreachable", f"it cannot be reached ({reason.strerror.lower()})"
    return "unreachable", f"it cannot be reached ({type(cause).__name__})"


def of_answer(status: int, code: int | None, message: str) -> tuple[RegistryErrorKind, str]:
    """Return the kind of an answer that is none of success, and what it says in words.

    Args:
        message: of the answer, or what stands for it.
    """
    told = f"it answered {status}" + (f" {code}" if code not in (None, status) else "") + f" ({message})"
    if status in (401, 403):
        return "unauthorized", told
    if status == 404 and code in UNKNOWN_CODES:
        return "unknown", told
    if status == 429:
        return "throttled", told
    if status in (408, 504):
        return "timeout", told
    return ("rejected" if status < 500 else "other"), told


def _chain(cause: BaseException) -> Iterator[BaseException]:
    inner: Any = cause
    for _ in range(8):
        if not isinstance(inner, BaseException):
            return
        yield inner
        reason = getattr(inner, "reason", None) if isinstance(inner, http.HTTPError) else None
        wrapped = next((argument for argument in inner.args if isinstance(argument, BaseException)), None)
        inner = (reason if isinstance(reason, BaseException) else wrapped) or inner.__cause__ or inner.__context__
