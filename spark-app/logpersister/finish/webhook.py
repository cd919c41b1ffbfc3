"""Notifies an HTTP server of folders: one POST each, signed as Standard Webhooks say (standardwebhooks.com).

No request is repeated here: what fails is told again by whoever calls, with pauses.
"""

import base64
import hashlib
import hmac
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPSConnection
from typing import Final

import urllib3

from logpersister import __version__
from logpersister.finish.telling import Message, NotTakenError, RefusedError, Send
from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.blocks.telling import WebhookSpec
from logpersister.manifest.secrets import AUTHORITY, Secrets, SecretValue
from logpersister.registry.access import TOKEN
from logpersister.registry.errors import of_connection

HMAC_KEY: Final = "hmacKey"
_SECRET_NAME: Final = "spec.finish.webhook.secretName"  # noqa: S105 - of the field
_PREFIX: Final = "whsec_"
"""Prefix of a key in base64; other keys are taken as they are."""
CONNECT_SECONDS: Final = 5.0
MOST_TOLD: Final = 200
"""Bytes of an answer that a message quotes."""
REFUSALS: Final = frozenset({400, 413, 415, 422})
"""Statuses about the message: it will never be accepted. All others are about the server, its address or the login;
those can be mended, and the message is sent again."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Server of ``spec.finish.webhook`` as a recipient. Thread-safe."""

    spec: WebhookSpec
    secrets: Secrets
    now: Callable[[], float] = time.time

    policy = "webhook"

    @contextmanager
    def session(self) -> Iterator[Send]:
        """Open connections by the Secret as it is now. Raises ManifestError."""
        token, key, authority = self._from_secret()
        seconds = self.spec.timeout.total_seconds()
        with urllib3.PoolManager(
            retries=False,
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds), read=seconds),
            ca_cert_data=authority,
        ) as pool:
            yield lambda message: self._post(pool, message, token, key)

    def check(self) -> None:
        """Raise ManifestError for a Secret that cannot be used, NotTakenError when there is no connection.

        Nothing is sent.
        """
        _, _, authority = self._from_secret()
        url = urllib3.util.parse_url(self.spec.url)
        host, seconds = (url.host or "").strip("[]"), min(CONNECT_SECONDS, self.spec.timeout.total_seconds())
        connection = HTTPConnection(host, url.port, timeout=seconds)
        if url.scheme == "https":
            connection = HTTPSConnection(
                host, url.port, timeout=seconds, context=ssl.create_default_context(cadata=authority)
            )
        try:
            connection.connect()
        except OSError as error:
            raise self._failed(f"it cannot be reached ({error.strerror or error})") from None
        finally:
            connection.close()

    def _from_secret(self) -> tuple[SecretValue | None, bytes | None, str | None]:
        name = self.spec.secret_name
        if name is None:
            return None, None, None
        token, key = self.secrets.get(name, TOKEN), self.secrets.get(name, HMAC_KEY)
        authority = self.secrets.authority(name, _SECRET_NAME)
        if token is None and key is None and authority is None:
            expectation = f"names the Secret {name}, which has none of {TOKEN}, {HMAC_KEY} and {AUTHORITY}"
            raise ManifestError([Problem(_SECRET_NAME, expectation, "put what the server asks for there")])
        return token, None if key is None else key_of(key.reveal()), authority

    def _post(self, pool: urllib3.PoolManager, message: Message, token: SecretValue | None, key: bytes | None) -> None:
        headers = self._headers(message, token, key)
        try:
            answer = pool.request(
                "POST", self.spec.url, body=message.body, headers=headers, redirect=False, preload_content=False
            )
            try:
                told = answer.read(MOST_TOLD)
            finally:
                answer.close()
        except urllib3.exceptions.HTTPError as error:
            raise self._failed(of_connection(error)[1]) from None
        if 200 <= answer.status < 300:
            return
        words = " ".join(told.decode(errors="replace").split()) or "without a word"
        location = answer.headers.get("Location")
        reason = f"it answered {answer.status} ({f'it points to {location[:MOST_TOLD]}' if location else words})"
        raise self._failed(reason, RefusedError if answer.status in REFUSALS else NotTakenError)

    def _headers(self, message: Message, token: SecretValue | None, key: bytes | None) -> Mapping[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": f"logpersister/{__version__}",
            "Idempotency-Key": f'"{message.id}"',
        }
        if token is not None:
            headers["Authorization"] = f"Bearer {token.reveal()}"
        if key is not None:
            at = str(int(self.now()))
            headers |= {"webhook-id": message.id, "webhook-timestamp": at}
            headers["webhook-signature"] = signature(key, message.id, at, message.body)
        return headers

    def _failed(self, reason: str, kind: type[Exception] = NotTakenError) -> Exception:
        return kind(f"webhook {self.spec.url.partition('?')[0]}: {reason}")


def key_of(text: str) -> bytes:
    """Return the key that a Secret has. Raises ManifestError."""
    if not text.startswith(_PREFIX):
        return text.encode()
    try:
        return base64.b64decode(text[len(_PREFIX) :], validate=True)
    except ValueError:
        problem = Problem(_SECRET_NAME, f"names a Secret whose {HMAC_KEY} is not base64 behind {_PREFIX}", "correct it")
    raise ManifestError([problem])


def signature(key: bytes, id_: str, at: str, body: bytes) -> str:
    """Return the value of the header ``webhook-signature``."""
    digest = hmac.digest(key, b".".join((id_.encode(), at.encode(), body)), hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"
