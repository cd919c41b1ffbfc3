"""Errors of the bucket: their kinds, and messages that help and hide."""

import pickle
from typing import Any

import pytest
from botocore import exceptions as aws

from logpersister.storage.errors import Place, StorageError

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
        (nested(aws.SSLError, OSError(1, "certificate verify failed")), "unreachable", True),
        (nested(aws.ReadTimeoutError, TimeoutError()), "timeout", True),
        (answer(400, "RequestTimeout"), "timeout", True),
        (aws.NoCredentialsError(), "unauthorized", False),
        (answer(403, "AccessDenied"), "unauthorized", False),
        (answer(403, "403", "HeadBucket"), "unauthorized", False),
        (answer(400, "ExpiredToken"), "unauthorized", False),
        (answer(404, "NoSuchBucket"), "missing-bucket", False),
        (answer(503, "SlowDown"), "throttled", True),
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


def test_no_secret_is_shown_even_when_the_server_repeats_it() -> None:
    error = PLACE.error("putting an object", None, answer(403, "AccessDenied", message="key hunter2-secret is wrong"))
    assert "hunter2-secret" not in str(error)
    assert "key [hidden] is wrong" in str(error)
    assert "hunter2-secret" not in repr(PLACE)


def test_an_error_travels_to_other_processes() -> None:
    error = StorageError("rejected", "no", retriable=True, code="NoSuchUpload")
    travelled = pickle.loads(pickle.dumps(error))
    assert travelled.__dict__ == error.__dict__
