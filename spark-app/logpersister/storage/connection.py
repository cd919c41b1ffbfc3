"""The boto3 client of one bucket: made on first use in each process, renewed when its credentials are refused."""

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from logpersister.forms.problems import ManifestError
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import AwsKeys
from logpersister.storage.errors import Place, StorageError, classify
from logpersister.storage.lean import LeanClient, Route

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

RetryCounter = Callable[[str], None]
"""Called with the kind of the failure each time a request is tried again; from any thread."""

CONNECT_TIMEOUT = 10.0
"""Seconds until a connection stands."""
READ_TIMEOUT = 60.0
"""Seconds without a byte going either way until a request counts as stalled."""
ATTEMPTS = 6
"""Attempts per request, with exponential backoff and jitter up to 20 s between them. Longer outages are the caller's
business, which executes the range again."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts and retries of a client."""

    connect: float = CONNECT_TIMEOUT
    read: float = READ_TIMEOUT
    attempts: int = ATTEMPTS


class Connection:
    """Gives the client of the current process and turns its errors into ours. Thread-safe; not picklable."""

    def __init__(
        self,
        storage: StorageSpec,
        credentials: Callable[[], AwsKeys | None],
        authority: Callable[[], str | None],
        *,
        on_retry: RetryCounter,
        timeouts: Timeouts,
        connections: int,
    ) -> None:
        """Take sources instead of values: a Secret may be rotated, and a forked process starts anew.

        `authority` gives the PEM of the certificate authority, or None for the public ones.
        """
        self.storage = storage
        self._credentials_source = credentials
        self._authority = authority
        self._on_retry = on_retry
        self._timeouts = timeouts
        self._connections = connections
        self._lock = threading.Lock()
        self._client: S3Client | None = None
        self._used: tuple[AwsKeys | None, str | None] = None, None
        self._place = Place(storage.endpoint or "AWS S3", storage.bucket)
        self._pid = os.getpid()
        self._lean: LeanClient | None = None
        self.deletes_many = True
        """Whether the storage knows requests that delete many objects, as far as has been seen."""

    @property
    def lean(self) -> LeanClient | None:
        """The short way for small requests, once botocore has shown it."""
        return self._lean if self._pid == os.getpid() else None

    def without_lean(self, cause: Exception | int) -> None:
        """Go the long way again, since the short one met an error or a status, until botocore has shown it anew."""
        self._lean = None
        if isinstance(cause, int):
            cause = ClientError({"ResponseMetadata": {"HTTPStatusCode": cause}}, "PutObject")  # type: ignore[typeddict-item]
        self._on_retry(classify(cause)[0])

    @property
    def client(self) -> "S3Client":
        """The client; raises StorageError when there are no credentials to make one with."""
        if self._pid != os.getpid():  # forked: sockets and perhaps a held lock belong to the parent
            self._lock, self._client, self._lean, self._pid = threading.Lock(), None, None, os.getpid()
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    @contextmanager
    def doing(self, what: str, key: str | None = None) -> Iterator["S3Client"]:
        """Give the client for one request; its errors come out as StorageError. `what`: "completing an upload"."""
        client = None
        try:
            client = self.client
            yield client
        except ManifestError as cause:
            raise StorageError("unauthorized", str(cause)) from None
        except (BotoCoreError, ClientError, OSError) as cause:
            error = self._place.error(what, key, cause)
            if error.kind in ("unauthorized", "unreachable"):
                self._renew(client)
            raise error from None

    def close(self) -> None:
        """Close all sockets; the next use opens new ones."""
        with self._lock:
            client, self._client, self._lean = self._client, None, None
        if client is not None:
            client.close()

    def _renew(self, refused: "S3Client | None") -> None:
        """Forget the client if a Secret has changed since, so that the next request uses the new one."""
        try:
            current = self._credentials_source(), self._authority()
        except Exception:  # noqa: BLE001 - the error that led here is the one to report
            return
        with self._lock:
            if current != self._used and self._client is refused:
                self._client = self._lean = None

    def _connect(self) -> "S3Client":
        credentials, authority = self._used = self._credentials_source(), self._authority()
        keys: dict[str, Any] = {} if credentials is None else credentials.revealed()
        session = boto3.session.Session(**keys)
        region = self.storage.region or session.region_name or ("us-east-1" if self.storage.endpoint else None)
        client = session.client(
            "s3",
            endpoint_url=self.storage.endpoint,
            region_name=region,
            verify=self._verify(authority),
            config=self._config(),
        )
        key_id = keys.pop("aws_access_key_id", "")
        self._place = Place(client.meta.endpoint_url, self.storage.bucket, key_id, tuple(filter(None, keys.values())))
        _count_retries(client, self._on_retry)
        self._learn_route(client, session)
        return client

    def _learn_route(self, client: "S3Client", session: boto3.session.Session) -> None:
        """Have the short way opened by the next put or listing of botocore."""
        sockets = getattr(getattr(client, "_endpoint", None), "http_session", None)
        found = session.get_credentials()
        if sockets is None or found is None:
            return

        def learn(request: Any, **_: object) -> None:
            route = Route.of(request, self.storage.bucket) if self._lean is None else None
            if route is not None and client is self._client:
                sign = self.storage.checksums != "when_supported"
                self._lean = LeanClient(route, found.get_frozen_credentials, sockets, sign_payload=sign)

        for kind in ("PutObject", "ListObjectsV2"):
            client.meta.events.register_last(f"before-send.s3.{kind}", learn)

    def _config(self) -> Config:
        checksums = self.storage.checksums
        return Config(
            connect_timeout=self._timeouts.connect,
            read_timeout=self._timeouts.read,
            retries={"mode": "standard", "total_max_attempts": self._timeouts.attempts},
            max_pool_connections=self._connections,
            tcp_keepalive=True,
            request_checksum_calculation=checksums,
            response_checksum_validation=checksums,
            user_agent_extra="logpersister",
            s3={
                "addressing_style": "path" if self.storage.uses_path_style else "auto",
                # With checksums the CRC-32 of each body is in a signed header and the server compares it: a SHA-256 of
                # the body besides would cost more than everything else (docs/design/objects.md).
                "payload_signing_enabled": checksums != "when_supported",
            },
        )

    def _verify(self, authority: str | None) -> bool | str | None:
        if not self.storage.verify_tls:
            return False
        # None: botocore's own default, which AWS_CA_BUNDLE replaces.
        return None if authority is None else _authority_file(self, authority)


def _authority_file(owner: object, pem: str) -> str:
    """Return a file with the certificates `pem`, which botocore wants by name; it goes when `owner` goes."""
    descriptor, name = tempfile.mkstemp(prefix="logpersister-ca-", suffix=".pem")
    with os.fdopen(descriptor, "w") as file:
        file.write(pem)
    weakref.finalize(owner, _remove_own, name, os.getpid())
    return name


def _remove_own(name: str, pid: int) -> None:
    if os.getpid() == pid:
        Path(name).unlink(missing_ok=True)


def _count_retries(client: "S3Client", on_retry: RetryCounter) -> None:
    failure = "logpersister_failure"

    def remember(response: Any, caught_exception: Exception | None, request_dict: dict[str, Any], **_: object) -> None:
        if caught_exception is not None:
            request_dict["context"][failure] = classify(caught_exception)[0]
        elif response is not None and response[0].status_code >= 300:
            request_dict["context"][failure] = _kind_of_answer(*response)

    def count(request: Any, **_: object) -> None:
        if request.context.get("retries", {}).get("attempt", 1) > 1:
            on_retry(request.context.get(failure, "other"))

    client.meta.events.register_first("needs-retry.s3", remember)
    client.meta.events.register_first("request-created.s3", count)


def _kind_of_answer(http: Any, parsed: dict[str, Any]) -> str:
    answer: Any = {**parsed, "ResponseMetadata": {"HTTPStatusCode": http.status_code}}
    return classify(ClientError(answer, ""))[0]
