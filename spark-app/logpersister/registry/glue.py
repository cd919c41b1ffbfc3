"""Asks the schema registry of AWS Glue, with time-outs and retries.

All questions are ``GetSchemaVersion``, so that is the only right that members need. The id of a version is a UUID, and
here the same as a number.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

import boto3.session
from botocore import exceptions as aws
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from logpersister.manifest.secrets import AwsKeys
from logpersister.registry.answers import Client, Schema, SubjectVersion
from logpersister.registry.client import ATTEMPTS, CONNECT_SECONDS, CONNECTIONS, READ_SECONDS
from logpersister.registry.errors import RegistryError, RegistryErrorKind, failure
from logpersister.registry.patience import patiently
from logpersister.values.registry import GluePlace

AVAILABLE: Final = "AVAILABLE"
"""Status of a version that serializers use. Others are being checked, have failed, or are being deleted."""
_NOBODYS: Final = UUID(int=0)


_KINDS: Final[dict[str, RegistryErrorKind]] = {
    "EntityNotFoundException": "unknown",
    **dict.fromkeys(
        (
            "AccessDeniedException", "AccessDenied", "ExpiredTokenException", "ExpiredToken",
            "IncompleteSignatureException", "InvalidClientTokenId", "InvalidSignatureException",
            "MissingAuthenticationTokenException", "NotAuthorized", "OptInRequired", "SignatureDoesNotMatch",
            "UnrecognizedClientException",
        ),
        "unauthorized",
    ),
    **dict.fromkeys(
        (
            "RequestLimitExceeded", "Throttling", "ThrottlingException", "ThrottledException",
            "TooManyRequestsException", "RequestThrottled", "RequestThrottledException", "SlowDown",
        ),
        "throttled",
    ),
    **dict.fromkeys(("OperationTimeoutException", "RequestTimeout", "RequestTimeoutException"), "timeout"),
    "InternalServiceException": "other",
    "InternalFailure": "other",
    "ServiceUnavailable": "other",
}  # fmt: skip
_NO_CREDENTIALS: Final = (
    aws.NoCredentialsError,
    aws.PartialCredentialsError,
    aws.CredentialRetrievalError,
    aws.MetadataRetrievalError,
    aws.TokenRetrievalError,
    aws.UnauthorizedSSOTokenError,
    aws.SSOTokenLoadError,
)


def of_aws(cause: Exception) -> tuple[RegistryErrorKind, str]:
    """Return the kind of an error of the SDK, and what happened in words."""
    if isinstance(cause, aws.ClientError):
        return _of_answer(cause.response)
    if isinstance(cause, aws.ReadTimeoutError | aws.ConnectTimeoutError | TimeoutError):
        return "timeout", "it did not answer in time"
    if isinstance(cause, _NO_CREDENTIALS):
        return "unauthorized", f"no usable credentials ({cause})"
    if isinstance(cause, aws.HTTPClientError | aws.ConnectionError | OSError):
        return "unreachable", f"it cannot be reached ({cause})"
    return "other", f"{type(cause).__name__} ({cause})"


def _of_answer(answer: Any) -> tuple[RegistryErrorKind, str]:
    code = str(answer.get("Error", {}).get("Code", ""))
    text = str(answer.get("Error", {}).get("Message", "")) or "without a word"
    status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    kind = _KINDS.get(code)
    if kind is None:
        kind = "throttled" if status == 429 else "rejected" if status < 500 else "other"
    return kind, f"it answered {status} {code} ({text[:300]})"


class GlueClient(Client):
    """One registry of AWS Glue. Thread-safe; to be closed."""

    def __init__(
        self,
        url: str,
        place: GluePlace,
        keys: AwsKeys | None,
        *,
        attempts: int = ATTEMPTS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet.

        Args:
            keys: None: those that the SDK finds.
        """
        super().__init__(url, attempts, sleep)
        self._place = place
        self._secrets = () if keys is None else tuple(one.reveal() for one in keys.secrets)
        revealed: dict[str, Any] = {} if keys is None else keys.revealed()
        session = boto3.session.Session(**revealed)
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": 1},  # ours say what failed
            max_pool_connections=CONNECTIONS,
            user_agent_extra="logpersister",
        )
        self._client = session.client("glue", region_name=place.region, config=config)

    def close(self) -> None:
        self._client.close()

    def _ask_schema(self, schema_id: int) -> Schema:
        asked = str(UUID(int=schema_id))
        return _schema(self._ask(f"asking for schema {asked}", {"SchemaVersionId": asked}))

    def id_of(self, guid: UUID) -> int:
        """Raise RegistryError: the ids of Glue are GUIDs, and stand before values."""
        raise failure(self.url, "unsupported", "it has no other ids", f"asking for the id of schema {guid}")

    def latest(self, subject: str) -> SubjectVersion:
        """Return the latest version of a schema that is available now. Raises RegistryError."""
        doing = f"asking for the latest version of schema {subject!r}"
        answer = self._of_name(subject, {"LatestVersion": True}, doing)
        if answer.get("Status", AVAILABLE) == AVAILABLE:
            return self._read(subject, answer)
        for number in range(answer["VersionNumber"] - 1, 0, -1):
            if self._is_there(subject, number):
                return self.version(subject, number)
        raise failure(self.url, "unknown", f"schema {subject!r} has no version that is available", doing)

    def _ask_version(self, subject: str, version: int) -> SubjectVersion:
        doing = f"asking for version {version} of schema {subject!r}"
        answer = self._of_name(subject, {"VersionNumber": version}, doing)
        if answer.get("Status", AVAILABLE) != AVAILABLE:
            raise failure(self.url, "unknown", f"its status is {answer['Status']}", doing)
        return self._read(subject, answer)

    def versions(self, subject: str) -> tuple[int, ...]:
        """Return the numbers of the versions that are available, rising. Raises RegistryError."""
        return tuple(number for number in range(1, self.latest(subject).version + 1) if self._is_there(subject, number))

    def reach(self) -> None:
        """Ask for a schema that nobody has: whoever may ask is told so. Raises RegistryError."""
        try:
            self._ask("asking for a schema that nobody has", {"SchemaVersionId": str(_NOBODYS)})
        except RegistryError as error:
            if error.kind != "unknown":
                raise

    def _is_there(self, subject: str, version: int) -> bool:
        try:
            self.version(subject, version)
        except RegistryError as error:
            if error.kind != "unknown":
                raise
            return False
        return True

    def _of_name(self, subject: str, version: Mapping[str, Any], doing: str) -> Mapping[str, Any]:
        named = {"SchemaName": subject, "RegistryName": self._place.registry}
        return self._ask(doing, {"SchemaId": named, "SchemaVersionNumber": dict(version)})

    def _read(self, subject: str, answer: Mapping[str, Any]) -> SubjectVersion:
        schema_id, number = UUID(answer["SchemaVersionId"]).int, int(answer["VersionNumber"])
        schema = self._schemas.get(schema_id) or _schema(answer)
        return self._keep(SubjectVersion(subject, number, schema_id, schema))

    def _ask(self, doing: str, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        def ask() -> Mapping[str, Any]:
            with self._told(doing):
                answer: Mapping[str, Any] = self._client.get_schema_version(**asked)
                return answer

        return patiently(ask, self._attempts, self._sleep)

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        """Let errors of the SDK come out as ours, without a secret in them."""
        try:
            yield
        except (BotoCoreError, ClientError, OSError) as cause:
            kind, reason = of_aws(cause)
            for secret in self._secrets:
                reason = reason.replace(secret, "[hidden]")
            raise failure(self.url, kind, reason, doing) from None


def _schema(answer: Mapping[str, Any]) -> Schema:
    return Schema(answer["SchemaDefinition"], answer["DataFormat"])
