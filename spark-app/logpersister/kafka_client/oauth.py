"""Tokens for OAUTHBEARER (KIP-255): from the Secret itself, or fetched with client credentials (RFC 6749, 4.4)."""

import base64
import json
import re
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NoReturn
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import Request, urlopen

import structlog
from kafka.errors import KafkaConnectionError
from kafka.net.sasl.oauth import AbstractTokenProvider

from logpersister.aside import in_a_thread
from logpersister.forms.problems import ManifestError, Problem
from logpersister.kafka_client.secret_keys import PATH as _PATH
from logpersister.manifest.secrets import Secrets

log = structlog.get_logger(__name__)

_TIMEOUT_SECONDS = 10.0
_LARGEST_ANSWER = 1_000_000
_LIFETIME_UNSAID = 60.0
"""Seconds that a token is kept when the provider does not say how long it is valid."""
_REFUSED_SECONDS = 30.0
"""From one request of a token to the next, while the broker refuses them."""
_AGAIN_SECONDS = 1.0
"""Pause after the provider gave no token, while an earlier token is still valid."""
_PATIENCE_SECONDS = 2.0
"""How long a login waits for another token, while an earlier one is valid: the provider may be silent."""
_KEPT = 0.8
"""Fraction of its lifetime after which a token is fetched anew."""
_EXTENSIONS = re.compile(r"[A-Za-z]+=[ -+\--~\t]*(,[A-Za-z]+=[ -+\--~\t]*)*", re.ASCII)
"""Names and values as RFC 7628 (section 3.1) allows them, written as librdkafka's ``sasl.oauthbearer.extensions``."""


class TokenError(KafkaConnectionError):  # type: ignore[misc]
    """No token could be had now; kafka-python tries the connection again later."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep the status of HTTP; None: the provider could not be asked."""
        super().__init__(message)
        self.refused = status in (400, 401, 403)
        self.may_pass = status is None or status in (408, 429) or status >= 500


def token_provider(name: str, secrets: Secrets, ca_name: str | None = None) -> AbstractTokenProvider:
    """Return the provider for what the Secret ``name`` holds; raise `ManifestError` when it holds neither kind.

    The authority of the identity provider may be in that Secret, or in ``ca_name``.
    """
    _extensions(name, secrets)
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


def _extensions(name: str, secrets: Secrets) -> dict[str, str]:
    """Return the SASL extensions of a Secret (KIP-342). Raises `ManifestError`."""
    found = secrets.get(name, "extensions")
    if found is None:
        return {}
    if not _EXTENSIONS.fullmatch(found.reveal()):
        remedy = "write for example logicalCluster=lkc-1,identityPoolId=pool-2"
        raise ManifestError(
            [Problem(_PATH, f"names the Secret {name}, whose key extensions is not NAME=VALUE", remedy)]
        )
    return {key: value for key, _, value in (one.partition("=") for one in found.reveal().split(","))}


class _Provider(AbstractTokenProvider):  # type: ignore[misc]
    """Reads its Secret at each login, so that a rotated one is used."""

    def __init__(self, name: str, secrets: Secrets) -> None:
        super().__init__()
        self._name = name
        self._secrets = secrets

    def extensions(self) -> dict[str, str]:
        return _extensions(self._name, self._secrets)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a token provider must not be pickled: make it in the process that needs it")


class StoredToken(_Provider):
    """Token in the key ``token`` of the Secret, which is rotated from outside."""

    def token(self) -> str:
        return self._secrets.require(self._name, "token", _PATH).reveal()


class ClientCredentials(_Provider):
    """Asks the identity provider for a token, and again when most of its lifetime is over."""

    def __init__(
        self, name: str, secrets: Secrets, ca_name: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(name, secrets)
        self._authorities = (name,) if ca_name is None else (name, ca_name)
        self._clock = clock
        self._basic = False
        self._lock = threading.Lock()
        self._token: str | None = None
        self._asked_at = self._fetch_at = self._valid_to = 0.0
        self._renewal: Future[None] | None = None

    def token(self) -> str:
        with self._lock:
            if self._token is None or self._clock() >= self._valid_to:
                self._renew()
            elif self._clock() >= self._fetch_at and (self._renewal is None or self._renewal.done()):
                self._renewal = in_a_thread(self._renew, _PATIENCE_SECONDS)
            assert self._token is not None, "there is one, or its absence was raised"
            return self._token

    def refused(self) -> None:
        """Fetch another token for the next login, unless one was fetched a moment ago: the broker refuses this one."""
        with self._lock:
            if self._clock() - self._asked_at >= _REFUSED_SECONDS:
                self._fetch_at = self._clock()

    def _renew(self) -> None:
        """Fetch a token; if that fails, the one before does as long as it is valid."""
        asked_at = self._asked_at = self._clock()
        try:
            self._token, lifetime = self._fetch()
        except TokenError as error:
            if self._token is None or self._clock() >= self._valid_to:
                raise
            self._fetch_at = self._clock() + _AGAIN_SECONDS
            log.warning(
                "kafka.token_not_renewed", error=str(error), valid_seconds=round(self._valid_to - self._clock())
            )
            return
        self._fetch_at, self._valid_to = self._clock() + lifetime * _KEPT, asked_at + lifetime

    def _fetch(self) -> tuple[str, float]:
        """Return a token and its lifetime in seconds; raise `TokenError` naming the address, and no secret."""
        url = self._secret("token-url")
        where, status = urlsplit(url).hostname, None
        try:
            answer = self._ask(url)
        except HTTPError as error:
            status, reason = error.code, f"answered {error.code} {_error_code(error)}".rstrip()
        except URLError as error:
            reason = f"cannot be reached: {error.reason}"
        except (OSError, ValueError) as error:
            reason = f"cannot be used: {type(error).__name__}"
        else:
            token = answer.get("access_token")
            if isinstance(token, str) and token:
                return token, _lifetime(answer.get("expires_in"))
            status, reason = 200, "gave no access_token"
        told = f"the identity provider {where} {reason}; check token-url, client-id, client-secret and scope"
        raise TokenError(told, status)

    def _ask(self, url: str) -> dict[str, Any]:
        """Show the secret in the form or as HTTP Basic; where one is refused, the other (RFC 6749, 2.3.1)."""
        try:
            return self._post(url, basic=self._basic)
        except HTTPError as error:
            if error.code not in (400, 401):
                raise
            refused = error
        try:
            answer = self._post(url, basic=not self._basic)
        except (OSError, ValueError) as error:
            if isinstance(error, HTTPError) and error.code in (400, 401, 403):
                error.close()
                raise refused from None
            refused.close()
            raise  # an outage: nothing says that the secret is wrong
        refused.close()
        self._basic = not self._basic
        return answer

    def _post(self, url: str, *, basic: bool) -> dict[str, Any]:
        form, headers = {"grant_type": "client_credentials"}, {"Accept": "application/json"}
        client, secret = self._secret("client-id"), self._secret("client-secret")
        if basic:
            login = base64.b64encode(f"{quote_plus(client)}:{quote_plus(secret)}".encode()).decode()
            headers["Authorization"] = f"Basic {login}"
        else:
            form |= {"client_id": client, "client_secret": secret}
        scope = self._secrets.get(self._name, "scope")
        if scope is not None:
            form["scope"] = scope.reveal()
        request = Request(url, urlencode(form).encode(), headers)  # noqa: S310  (checked)
        with urlopen(request, timeout=_TIMEOUT_SECONDS, context=self._tls()) as response:  # noqa: S310
            answer = json.loads(response.read(_LARGEST_ANSWER))
        return answer if isinstance(answer, dict) else {}

    def _tls(self) -> ssl.SSLContext:
        """Public authorities, and those of the Secrets that have one: a company's provider often has the same."""
        context = ssl.create_default_context()
        for name in self._authorities:
            authority = self._secrets.authority(name, _PATH)
            if authority is not None:
                context.load_verify_locations(cadata=authority)
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
