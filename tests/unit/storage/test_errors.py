"""Errors of the bucket: their kinds, and messages that help and hide."""

import pickle
from typing import Any

import pytest
from botocore import exceptions as aws

from logpersister.storage.errors import Place, StorageError, classify

PLACE = Place("http://s3.example:9000", "logs", "logs", ("hunter2-secret",))


def answer(status: int, code: str, operation: str = "PutObject", message: str = "because") -> aws.ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return aws.ClientError(response, operation)


def nested(outer: Any, inner: Exception) -> Exception:
    error: Exception = outer(endpoint_url="http://s3.example:9000", error=inner)
    return error


@pytest.mark.parametrize(
    ("cause", "kind", "retriable"),
    [
        (nested(aws.EndpointConnectionError, ConnectionRefusedError(111, "Connection refused")), "unreachable", True),
        (nested(aws.ConnectionClosedError, OSError()), "unreachable", True),
        (nested(aws.SSLError, OSError(1, "certificate verify failed")), "unreachable", True),
        (nested(aws.ReadTimeoutError, TimeoutError()), "timeout", True),
        (nested(aws.ConnectTimeoutError, TimeoutError()), "timeout", True),
        (answer(400, "RequestTimeout"), "timeout", True),
        (aws.NoCredentialsError(), "unauthorized", False),
        (answer(403, "AccessDenied"), "unauthorized", False),
        (answer(403, "403", "HeadBucket"), "unauthorized", False),
        (answer(400, "ExpiredToken"), "unauthorized", False),
        (answer(404, "NoSuchBucket"), "missing-bucket", False),
        (answer(404, "404", "HeadBucket"), "missing-bucket", False),
        (answer(503, "SlowDown"), "throttled", True),
        (answer(503, "503", "HeadObject"), "throttled", True),
        (answer(429, "TooManyRequests"), "throttled", True),
        (answer(400, "InvalidArgument"), "rejected", False),
        (answer(301, "PermanentRedirect"), "rejected", False),
        (answer(403, "RequestTimeTooSkewed"), "rejected", False),
        (answer(404, "NoSuchUpload"), "rejected", True),
        (answer(409, "ConditionalRequestConflict"), "rejected", True),
        (answer(500, "InternalError"), "other", True),
        (answer(501, "NotImplemented"), "rejected", False),
        (aws.BotoCoreError(), "other", True),
    ],
)
def test_kinds(cause: Exception, kind: str, retriable: bool) -> None:
    error = PLACE.error("completing an upload", "raw/clicks/1_0_0.txt", cause)
    assert (error.kind, error.retriable) == (kind, retriable)
    for part in ("http://s3.example:9000", "'logs'", "raw/clicks/1_0_0.txt", "(completing an upload); "):
        assert part in str(error)


def test_the_deepest_reason_is_the_one_to_read() -> None:
    refused = ConnectionRefusedError(111, "Connection refused")
    assert classify(nested(aws.EndpointConnectionError, refused))[2] == "it cannot be reached (connection refused)"
    told = "it cannot be reached (the server there takes the connection and gives no answer of S3)"
    assert classify(nested(aws.ConnectionClosedError, OSError()))[2] == told


def test_no_secret_is_shown_even_when_the_server_repeats_it() -> None:
    error = PLACE.error("putting an object", None, answer(403, "AccessDenied", message="key hunter2-secret is wrong"))
    assert "hunter2-secret" not in str(error)
    assert "key [hidden] is wrong" in str(error)
    assert "hunter2-secret" not in repr(PLACE)


def test_a_key_id_is_a_name_and_no_path_loses_a_word_by_it() -> None:
    error = PLACE.error("putting an object", "raw/logs/1_0_0.txt", answer(403, "InvalidAccessKeyId"))
    assert "object 'raw/logs/1_0_0.txt': the storage does not know the access key id 'logs'" in str(error)
    assert "correct AWS_ACCESS_KEY_ID" in str(error)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("ExpiredToken", "the session token of the access key id 'logs' has expired"),
        ("InvalidToken", "the session token of the access key id 'logs' is not accepted"),
        ("InvalidTokenId", "the session token of the access key id 'logs' is not accepted"),
    ],
)
def test_a_session_token_that_is_refused_is_said_to_be_it(code: str, words: str) -> None:
    error = PLACE.error("listing the bucket", None, answer(403, code))
    assert (error.kind, error.retriable) == ("unauthorized", False)
    assert words in str(error)
    assert "AWS_SESSION_TOKEN in the Secret of spec.storage.secretName (without it: " in str(error)


def test_an_error_travels_to_other_processes() -> None:
    error = StorageError("rejected", "no", retriable=True, code="NoSuchUpload")
    travelled = pickle.loads(pickle.dumps(error))
    assert (travelled.kind, str(travelled), travelled.retriable, travelled.code) == (
        "rejected",
        "no",
        True,
        "NoSuchUpload",
    )


def test_our_own_errors_pass_unchanged() -> None:
    error = StorageError("other", "x")
    assert PLACE.error("anything", None, error) is error
