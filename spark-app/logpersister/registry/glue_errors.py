"""Errors of AWS Glue, in the kinds of all registries."""

from typing import Any, Final

from botocore import exceptions as aws

from logpersister.registry.errors import RegistryErrorKind

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
