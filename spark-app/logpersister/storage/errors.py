"""Errors of the bucket, in few kinds, each with a remedy. Messages never hold a secret."""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from botocore import exceptions as aws

from logpersister.manifest.secrets import HIDDEN

StorageErrorKind = Literal[
    "unreachable", "unauthorized", "missing-bucket", "throttled", "timeout", "rejected", "damaged", "other"
]
"""Stable words for metrics and status:

``unreachable``     no connection, or it broke: address, network, TLS
``unauthorized``    no or wrong credentials, or they do not allow the request
``missing-bucket``  the bucket does not exist
``throttled``       the storage asks for fewer requests
``timeout``         it was reached, but did not answer in time
``rejected``        it understood the request and refuses it: repeating alone does not help
``damaged``         a document below ``_logpersister/`` is not what was written there
``other``           an error inside the storage, or one that is not known here
"""

REFUSALS: frozenset[str] = frozenset({"unauthorized", "missing-bucket", "rejected"})
"""Kinds that say: not here, as it is."""

_RETRIABLE: frozenset[str] = frozenset({"unreachable", "throttled", "timeout", "other"})

_KINDS_BY_CODE: dict[str, StorageErrorKind] = {
    **dict.fromkeys(
        [
            "AccessDenied", "AccountProblem", "AllAccessDisabled", "AuthFailure", "ExpiredToken", "Forbidden",
            "InvalidAccessKeyId", "InvalidSecurity", "InvalidToken", "InvalidTokenId", "NotSignedUp",
            "SignatureDoesNotMatch", "TokenRefreshRequired", "Unauthorized", "401", "403", "KMS.AccessDeniedException",
        ],
        "unauthorized",
    ),
    "NoSuchBucket": "missing-bucket",
    "RequestTimeTooSkewed": "rejected",
    **dict.fromkeys(["NotImplemented", "501"], "rejected"),
    "InvalidObjectState": "rejected",
    **dict.fromkeys(
        [
            "503", "429", "BandwidthLimitExceeded", "RequestLimitExceeded", "RequestThrottled", "ServiceUnavailable",
            "SlowDown", "SlowDownRead", "SlowDownWrite", "Throttling", "ThrottlingException", "TooManyRequests",
            "TooManyRequestsException", "XMinioServerNotInitialized",
        ],
        "throttled",
    ),
    **dict.fromkeys(["RequestTimeout", "RequestTimeoutException", "408", "504"], "timeout"),
}  # fmt: skip

_REMEDIES: dict[str, str] = {
    "unreachable": "check spec.storage.endpoint and region, and the network between here and there",
    "unauthorized": "check the keys of spec.storage.secretName (without it: the role of this process), and that they "
    "may list the bucket and get, put, delete and abort uploads of objects below the prefix",
    "missing-bucket": "create it, or correct spec.storage.bucket",
    "throttled": "nothing to do if it passes; otherwise write larger objects (upload.maxBytes, upload.maxAge)",
    "timeout": "check the load of the storage and the network between here and there",
    "rejected": "see what the storage says",
    "damaged": "see who changed it; restore it from a version of the object or from a backup",
    "other": "see what the storage says, and its own logs",
}
PLAIN_SERVER: Final = "PlainServer"
"""Our code for an endpoint of https where a server answers without TLS."""
TLS_SERVER: Final = "TLSServer"
"""Our code for an endpoint of http where a server wants TLS."""
CONDITION_IGNORED: Final = "ConditionIgnored"
"""Our code for a storage that replaced an object although the request said not to."""
NOT_LISTED: Final = "NotListed"
"""Our code for a storage whose listing lacks an object that it has stored."""
_ELSEWHERE: Final = "(without it: where the AWS SDK of this process finds it)"

_REMEDIES_BY_CODE: dict[str, str] = {
    "InvalidAccessKeyId": f"correct AWS_ACCESS_KEY_ID in the Secret of spec.storage.secretName {_ELSEWHERE}",
    "SignatureDoesNotMatch": f"correct AWS_SECRET_ACCESS_KEY in the Secret of spec.storage.secretName {_ELSEWHERE}",
    PLAIN_SERVER: "write http:// in spec.storage.endpoint, or the port on which the storage speaks TLS",
    TLS_SERVER: "write https:// in spec.storage.endpoint, or the port on which the storage speaks plain http",
    "RequestTimeTooSkewed": "set the clock of this machine",
    **dict.fromkeys(
        ["PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "301"],
        "set spec.storage.region to the region of the bucket",
    ),
    "NotImplemented": "the storage does not support this; `logpersister check` finds out which setting of spec.storage "
    "(checksums, acl, conditionalWrites) helps",
    "InvalidPart": "write the range again; if the storage takes only parts of one size (Cloudflare R2), raise "
    "spec.storage.partSize: the first 5,000 parts have it",
    CONDITION_IGNORED: "use a storage that honours conditional writes; or set spec.storage.conditionalWrites: false, "
    "which promises less (docs/guarantees.md#stores-without-conditional-writes)",
    NOT_LISTED: "use the primary, not a replica or a cache: members rest on listings that show what was put "
    "(docs/guarantees.md#what-it-rests-on)",
    "XAmzContentSHA256Mismatch": "spec.storage.checksums: when_required helps with storages that do not know checksums",
    "InvalidObjectState": "a lifecycle rule has moved it to an archive: restore it; exclude _logpersister/ there",
    "InvalidStorageClass": "correct spec.storage.storageClass",
    "KMS.NotFoundException": "correct spec.storage.encryption.keyId",
    "KMS.DisabledException": "enable the key of spec.storage.encryption.keyId",
    "NoSuchUpload": "nothing needs to be done: the upload was ended by somebody else, and the range is written again",
    "ExpiredToken": f"renew keys and AWS_SESSION_TOKEN in the Secret of spec.storage.secretName {_ELSEWHERE}",
    **dict.fromkeys(
        ["InvalidToken", "InvalidTokenId", "TokenRefreshRequired"],
        f"correct AWS_SESSION_TOKEN in the Secret of spec.storage.secretName {_ELSEWHERE}; keys that last have none",
    ),
    "QuotaExceeded": "make room in the bucket, or raise its quota",
    "XMinioStorageFull": "make room on the storage",
}  # fmt: skip


class StorageError(Exception):
    """A request to the bucket that failed for good, after the retries that made sense."""

    def __init__(self, kind: StorageErrorKind, message: str, *, retriable: bool | None = None, code: str = "") -> None:
        super().__init__(message)
        self.kind: StorageErrorKind = kind
        self.retriable = kind in _RETRIABLE if retriable is None else retriable
        """Whether the same work may succeed later without anybody changing anything."""
        self.code = code
        """Code of the error by S3, for example ``SlowDown``, or one of ours; empty when there is none."""

    def with_remedy(self, remedy: str) -> "StorageError":
        """Return the error with another remedy than its code usually has."""
        message = str(self).removesuffix(_remedy(self.kind, self.code)) + remedy
        return StorageError(self.kind, message, retriable=self.retriable, code=self.code)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(StorageError, self.kind, str(self), retriable=self.retriable, code=self.code), ()


@dataclass(frozen=True, slots=True)
class Place:
    """Endpoint and bucket of requests, for messages."""

    endpoint: str
    bucket: str
    access_key_id: str = ""
    """Id of the access key that signs the requests; a name, not a secret."""
    secrets: tuple[str, ...] = ()
    """Texts that must never be shown, should a server or a library repeat them."""

    def __repr__(self) -> str:
        return f"Place({self.endpoint}, {self.bucket})"

    def error(self, doing: str, key: str | None, cause: Exception) -> StorageError:
        """Return `cause`, an error of botocore, as one of ours.

        `doing` continues the words "while", for example ``completing an upload``.
        """
        if isinstance(cause, StorageError):
            return cause
        kind, code, reason = classify(cause)
        if code in WRONG_KEYS and self.access_key_id:
            reason = _WRONG_KEYS[code].format(self.access_key_id, reason)
        elif code == "AccessDenied" and self.access_key_id:
            reason = f"access key id {self.access_key_id!r} is not allowed to: {reason}"
        return self.failure(kind, code, reason, doing, key)

    def failure(
        self, kind: StorageErrorKind, code: str, reason: str, doing: str, key: str | None = None
    ) -> StorageError:
        """Return the error of a request, with what to do about it."""
        where = f"bucket {self.bucket!r} of {self.endpoint}" + (f", object {key!r}" if key else "")
        message = f"{where}: {reason} ({doing}); {_remedy(kind, code)}"
        for secret in filter(None, self.secrets):
            message = message.replace(secret, HIDDEN)
        return StorageError(kind, message, retriable=True if code in _LATER else None, code=code)


def _remedy(kind: StorageErrorKind, code: str) -> str:
    return _REMEDIES_BY_CODE.get(code) or _REMEDIES[kind]


_WRONG_KEYS: Final = {
    "InvalidAccessKeyId": "the storage does not know the access key id {!r}: {}",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key id {!r}: {}",
    "ExpiredToken": "the session token of the access key id {!r} has expired: {}",
    **dict.fromkeys(
        ["InvalidToken", "InvalidTokenId", "TokenRefreshRequired"],
        "the session token of the access key id {!r} is not accepted: {}",
    ),
}

WRONG_KEYS: Final = frozenset(_WRONG_KEYS)
"""Codes that say that the keys or the session token themselves are wrong, not that they may too little."""
_LATER = frozenset({"NoSuchUpload", "ConditionalRequestConflict", "OperationAborted", "BadDigest", "IncompleteBody"})
"""Refusals that depend on what others did at that moment, or on broken transport: the same work may well succeed."""


def classify(cause: Exception) -> tuple[StorageErrorKind, str, str]:
    """Return the kind of an error of botocore, the code that S3 gave (or ""), and what happened in words."""
    if isinstance(cause, aws.ClientError):
        return _classify_answer(cause)
    if isinstance(cause, aws.ReadTimeoutError | aws.ConnectTimeoutError | TimeoutError):
        return "timeout", "", _words(cause, "it did not answer in time")
    if isinstance(
        cause,
        aws.NoCredentialsError
        | aws.PartialCredentialsError
        | aws.CredentialRetrievalError
        | aws.MetadataRetrievalError
        | aws.TokenRetrievalError
        | aws.UnauthorizedSSOTokenError
        | aws.SSOTokenLoadError,
    ):
        return "unauthorized", "", f"no usable credentials ({cause})"
    if isinstance(cause, aws.SSLError) and any(_is_answer_without_tls(reason) for reason in _chain(cause)):
        return "unreachable", PLAIN_SERVER, "the endpoint is https, and the server there speaks plain http"
    if isinstance(cause, aws.HTTPClientError | aws.ConnectionError | ConnectionError | OSError):
        return "unreachable", "", _words(cause, "it cannot be reached")
    return "other", "", f"{type(cause).__name__} ({cause})"


def _classify_answer(cause: aws.ClientError) -> tuple[StorageErrorKind, str, str]:
    answer: Any = cause.response
    code = str(answer.get("Error", {}).get("Code", ""))
    text = str(answer.get("Error", {}).get("Message", "")) or "no message"
    status = int(answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "NoSuchBucket" or (code == "404" and cause.operation_name == "HeadBucket"):
        return "missing-bucket", "NoSuchBucket", "the bucket does not exist"
    kind = _KINDS_BY_CODE.get(code) or _KINDS_BY_CODE.get(str(status))
    if kind is None:
        kind = "rejected" if 300 <= status < 500 else "other"
    named = f" {code}" if code and code != str(status) else ""
    return kind, code, f"the storage answered {status}{named} ({text})"


def _is_answer_without_tls(error: BaseException) -> bool:
    """Whether OpenSSL found something else than TLS in the answer."""
    return isinstance(error, ssl.SSLError) and error.reason in {"WRONG_VERSION_NUMBER", "HTTP_REQUEST"}


def _words(cause: BaseException, summary: str) -> str:
    reasons = [inner.strerror for inner in _chain(cause) if isinstance(inner, OSError) and inner.strerror]
    if not reasons and isinstance(cause, aws.ConnectionClosedError):
        return f"{summary} (the server there takes the connection and gives no answer of S3)"
    return f"{summary} ({reasons[-1].lower() if reasons else type(cause).__name__})"


def _chain(cause: BaseException) -> Iterator[BaseException]:
    """Yield an error of botocore and what led to it, the deepest reason last."""
    inner: Any = cause
    for _ in range(8):
        if not isinstance(inner, BaseException):
            return
        yield inner
        nested = getattr(inner, "kwargs", {}).get("error") if isinstance(inner, aws.BotoCoreError) else None
        named = getattr(inner, "reason", None)
        wrapped = inner.args[0] if inner.args and isinstance(inner.args[0], BaseException) else None
        reason = named if isinstance(named, BaseException) else None
        inner = nested or reason or wrapped or inner.__cause__ or inner.__context__
