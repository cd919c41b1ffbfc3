"""Tokens for OAUTHBEARER (KIP-255): from the Secret itself, or fetched with client credentials (RFC 6749, 4.4)."""

import json
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from logpersister.kafka_client.secret_keys import AUTHORITY
from logpersister.kafka_client.secret_keys import PATH as _PATH
from logpersister.manifest.problems import ManifestError, Problem
from logpersister.manifest.secrets import Secrets

_TIMEOUT_SECONDS = 10.0
_LARGEST_ANSWER = 1_000_000
_LIFETIME_UNSAID = 60.0
"""Seconds that a token is kept when the provider does not say how long it is valid."""
_KEPT = 0.8
"""Part of its lifetime after which a token is fetched anew."""


class TokenError(KafkaConnectionError):  # type: ignore[misc]
    """No token could be had now; kafka-python tries the connection again later."""


def token_provider(name: str, secrets: Secrets, ca_name: str | None = None) -> AbstractTokenProvider:
    """Return the provider for what the Secret ``name`` holds; raise `ManifestError` when it holds neither kind.

    The authority of the identity provider may be in that Secret, or in ``ca_name``.
    """
    if secrets.get(name, "token") is not None:
        secrets.require(name, "token", _PATH)  # not empty
        return StoredToken(name, secrets)
    if secrets.get(name, "token-url") is None:
        problem = Problem(
            _PATH,
            f"names the Secret {name}, which has neither token nor token-url",
            "add the key token, or token-url, client-id and client-secret",
        )
        raise ManifestError([problem])
    for key in ("token-url", "client-id", "client-secret"):
        secrets.require(name, key, _PATH)
    _check_url(secrets.require(name, "token-url", _PATH).reveal())
    return ClientCredentials(name, secrets, ca_name)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        remedy = "write for example https://login.example.org/oauth2/token"
        raise ManifestError([Problem(_PATH, "names a Secret whose token-url is not an http or https URL", remedy)])


class StoredToken(AbstractTokenProvider):  # type: ignore[misc]
    """The key ``token``, read at each login: whoever rotates the Secret keeps it valid."""

    def __init__(self, name: str, secrets: Secrets) -> None:
        super().__init__()
        self._name = name
        self._secrets = secrets

    def token(self) -> str:
        return self._secrets.require(self._name, "token", _PATH).reveal()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token provider must not be pickled: make it in the process that needs it")


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Asks the identity provider for a token, and again when most of its lifetime is over."""

    def __init__(
        self, name: str, secrets: Secrets, ca_name: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._name = name
        self._authorities = (name,) if ca_name is None else (name, ca_name)
        self._secrets = secrets
        self._clock = clock
        self._lock = threading.Lock()
        self._token: str | None = None
        self._fetch_at = 0.0

    def token(self) -> str:
        with self._lock:
            if self._token is None or self._clock() >= self._fetch_at:
                self._token, lifetime = self._fetch()
                self._fetch_at = self._clock() + lifetime * _KEPT
            return self._token

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token provider must not be pickled: make it in the process that needs it")

    def _fetch(self) -> tuple[str, float]:
        """Return a token and its lifetime in seconds; raise `TokenError` naming the address, and no secret."""
        url = self._secret("token-url")
        where = urlsplit(url).hostname
        try:
            answer = self._post(url)
        except HTTPError as error:
            reason = f"answered {error.code} {_error_code(error)}".rstrip()
        except URLError as error:
            reason = f"cannot be reached: {error.reason}"
        except (OSError, ValueError) as error:
            reason = f"cannot be used: {type(error).__name__}"
        else:
            token = answer.get("access_token")
            if isinstance(token, str) and token:
                return token, _lifetime(answer.get("expires_in"))
            reason = "gave no access_token"
        raise TokenError(f"the identity provider {where} {reason}; check token-url, client-id, client-secret and scope")

    def _post(self, url: str) -> dict[str, Any]:
        form = {
            "grant_type": "client_credentials",
            "client_id": self._secret("client-id"),
            "client_secret": self._secret("client-secret"),
        }
        scope = self._secrets.get(self._name, "scope")
        if scope is not None:
            form["scope"] = scope.reveal()
        request = Request(url, urlencode(form).encode(), {"Accept": "application/json"})  # noqa: S310  (checked)
        with urlopen(request, timeout=_TIMEOUT_SECONDS, context=self._tls()) as response:  # noqa: S310
            answer = json.loads(response.read(_LARGEST_ANSWER))
        return answer if isinstance(answer, dict) else {}

    def _tls(self) -> ssl.SSLContext:
        """Public authorities, and those of the Secrets that have one: a company's provider often has the same."""
        context = ssl.create_default_context()
        for name in self._authorities:
            authority = self._secrets.get(name, AUTHORITY)
            if authority is not None:
                context.load_verify_locations(cadata=authority.reveal())
        return context

    def _secret(self, key: str) -> str:
        return self._secrets.require(self._name, key, _PATH).reveal()


def _error_code(error: HTTPError) -> str:
    """Return the ``error`` of RFC 6749, section 5.2 (``invalid_client``), which is never a secret; empty without."""
    try:
        answer = json.loads(error.read(_LARGEST_ANSWER))
    except (OSError, ValueError):
        return ""
    code = answer.get("error") if isinstance(answer, dict) else None
    known = ("invalid_client", "invalid_grant", "invalid_request", "invalid_scope", "unauthorized_client")
    return code if code in known else ""


def _lifetime(expires_in: object) -> float:
    try:
        return max(0.0, float(str(expires_in)))
    except ValueError:
        return _LIFETIME_UNSAID
