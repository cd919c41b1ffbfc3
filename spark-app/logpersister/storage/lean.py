"""A put of a small object, and a look at the first names of a listing, at a quarter of what botocore takes for them.

Thousands of partitions with a trickle each mean thousands of tiny objects, and building, signing and parsing a
request in botocore costs far more than sending it. So after botocore has made a first request of the kind, its way
there (URL, region) is reused, with a signature that is computed here (Signature Version 4) on botocore's own sockets.

Only a plain success counts. Whatever else happens, the caller asks botocore to do the same again, with all its
retries, redirects and error messages; both may be repeated. So nothing here decides about failures.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote_plus, urlsplit
from xml.etree import ElementTree as ET

from botocore.awsrequest import AWSPreparedRequest
from botocore.credentials import Credentials, ReadOnlyCredentials

from logpersister.storage.parts import MIB

LIMIT = MIB
"""Bytes of the largest object that is put in this way; above, what botocore costs does not matter."""

UNSIGNED = "UNSIGNED-PAYLOAD"
_NO_BODY = hashlib.sha256(b"").hexdigest()
_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class Route:
    """How botocore reaches the bucket."""

    base: str
    """URL of the bucket; ends with a slash."""
    region: str

    @classmethod
    def of(cls, request: Any, bucket: str) -> "Route | None":
        """Return the route that a prepared request of botocore to the bucket takes; None for one not understood."""
        authorization = request.headers.get("Authorization", "")
        text = authorization.decode() if isinstance(authorization, bytes) else authorization
        scope = text.partition("Credential=")[2].partition(",")[0].split("/")
        if not text.startswith(f"{_ALGORITHM} ") or len(scope) != 5 or scope[3:] != ["s3", "aws4_request"]:
            return None
        url = urlsplit(request.url)
        if url.netloc.startswith(f"{bucket}."):
            return cls(f"{url.scheme}://{url.netloc}/", scope[2])
        path_style = f"{url.path}/".startswith(f"/{bucket}/")
        return cls(f"{url.scheme}://{url.netloc}/{bucket}/", scope[2]) if path_style else None


class LeanClient:
    """Makes requests on one route. Thread-safe."""

    def __init__(
        self, route: Route, keys: Callable[[], ReadOnlyCredentials], sockets: Any, *, sign_payload: bool
    ) -> None:
        """Take `sockets`, botocore's HTTP session, and `keys`, which gives the current credentials."""
        self._route = route
        self._keys = keys
        self._sockets = sockets
        self._sign_payload = sign_payload

    def put(self, key: str, headers: Mapping[str, str], body: bytes) -> int:
        """Put an object in one attempt; return the status of the answer. Raises what the sockets raise."""
        payload = hashlib.sha256(body).hexdigest() if self._sign_payload else UNSIGNED
        return self._send("PUT", self._route.base + quote(key, safe="/~"), headers, payload, body)[0]

    def first_keys(self, prefix: str, start_after: str, most: int) -> tuple[int, list[str]]:
        """Return the status of the answer to a listing, and the first names in it. Raises what the sockets raise."""
        asked = {"encoding-type": "url", "list-type": "2", "max-keys": str(most), "prefix": prefix}
        asked |= {"start-after": start_after} if start_after else {}
        query = "&".join(f"{name}={quote(value, safe='~')}" for name, value in asked.items())
        status, text = self._send("GET", f"{self._route.base}?{query}", {}, _NO_BODY, b"")
        if status != HTTPStatus.OK:
            return status, []
        listing = ET.fromstring(text)  # noqa: S314 - botocore, which reads all other answers, trusts the server as much
        return status, [unquote_plus(key.text or "") for key in listing.iterfind("{*}Contents/{*}Key")]

    def _send(self, method: str, url: str, headers: Mapping[str, str], payload: str, body: bytes) -> tuple[int, bytes]:
        now = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        signed: Any = signed_headers(method, url, headers, payload, self._keys(), self._route.region, now)
        answer = self._sockets.send(AWSPreparedRequest(method, url, signed, body, stream_output=False))
        content = bytes(answer.content)  # the connection can be used again once the answer has been read
        return int(answer.status_code), content


def signed_headers(
    method: str,
    url: str,
    headers: Mapping[str, str],
    payload: str,
    keys: ReadOnlyCredentials | Credentials,
    region: str,
    now: str,
) -> dict[str, str]:
    """Return the headers of a request with those that sign it (AWS Signature Version 4 for S3).

    `payload` is the hex SHA-256 of the body or `UNSIGNED`; `now` is like ``20261121T120000Z``; the query of `url` is
    sorted and encoded.
    """
    target = urlsplit(url)
    signed = {name.lower(): " ".join(value.split()) for name, value in headers.items()}
    signed |= {"host": target.netloc, "x-amz-content-sha256": payload, "x-amz-date": now}
    if keys.token:
        signed["x-amz-security-token"] = keys.token
    names = sorted(signed)
    canonical = "\n".join(
        [method, target.path, target.query, *(f"{name}:{signed[name]}" for name in names), "", ";".join(names), payload]
    )
    scope = f"{now[:8]}/{region}/s3/aws4_request"
    text = "\n".join([_ALGORITHM, now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signature = hmac.digest(_signing_key(keys.secret_key, scope), text.encode(), "sha256").hex()
    signed["authorization"] = (
        f"{_ALGORITHM} Credential={keys.access_key}/{scope}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return signed


@lru_cache(maxsize=8)
def _signing_key(secret_key: str, scope: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for step in scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    return key
