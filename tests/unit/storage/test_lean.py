"""The short way to put small objects signs exactly as botocore does."""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from logpersister.storage.lean import UNSIGNED, Route, signed_headers
from tests.examples import examples

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)
TEXT = "%Y%m%dT%H%M%SZ"
visible = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=20)


@examples(60)
@given(
    method=st.sampled_from(["PUT", "GET"]),
    asked=st.dictionaries(st.sampled_from(["list-type", "prefix", "start-after"]), visible),
    key=st.text("abz09-_.~/%=+ ä", min_size=1, max_size=30).filter(lambda key: "//" not in key and "/." not in key),
    metadata=st.dictionaries(st.sampled_from(["group", "topic-id", "end"]), visible),
    token=st.one_of(st.none(), visible),
    base=st.sampled_from(["http://127.0.0.1:9000/logs/", "https://logs.s3.eu-central-1.amazonaws.com/"]),
)
def test_the_signature_is_that_of_botocore(
    method: str, asked: dict[str, str], key: str, metadata: dict[str, str], token: str | None, base: str
) -> None:
    keys = Credentials("AKIDEXAMPLE", "secret/key+", token)
    query = "&".join(f"{name}={quote(value, safe='~')}" for name, value in sorted(asked.items()))
    url = base + quote(key.lstrip("/."), safe="/~") + (f"?{query}" if query else "")
    headers = {"content-type": "text/plain;  charset=utf-8", "if-none-match": "*"}
    headers |= {f"x-amz-meta-{name}": value for name, value in metadata.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.auth.get_current_datetime", lambda: NOW)
        request: Any = AWSRequest(method, url, headers=headers, data=b"")
        request.context["client_config"] = Config(s3={"payload_signing_enabled": False})
        S3SigV4Auth(keys, "s3", "eu-central-1").add_auth(request)
    ours = signed_headers(method, url, headers, UNSIGNED, keys, "eu-central-1", f"{NOW:{TEXT}}")
    assert ours["authorization"] == request.headers["Authorization"]


class Sent:
    """A prepared request, as far as a route is read from it."""

    def __init__(self, url: str, authorization: str | bytes) -> None:
        self.url = url
        self.headers = {"Authorization": authorization}


AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=AKID/20261121/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=0"
)


@pytest.mark.parametrize(
    ("url", "authorization", "route"),
    [
        ("http://127.0.0.1:9000/logs/raw/x", AUTHORIZATION, Route("http://127.0.0.1:9000/logs/", "eu-central-1")),
        ("https://logs.s3.aws/raw/x", AUTHORIZATION.encode(), Route("https://logs.s3.aws/", "eu-central-1")),
        ("http://127.0.0.1:9000/logs?list-type=2", AUTHORIZATION, Route("http://127.0.0.1:9000/logs/", "eu-central-1")),
        ("https://other.s3.aws/raw/x", AUTHORIZATION, None),
        ("http://127.0.0.1:9000/logs/raw/x", "AWS4-ECDSA-P256-SHA256 Credential=AKID/20261121/s3/aws4_request", None),
        ("http://127.0.0.1:9000/logs/raw/x", AUTHORIZATION.replace("/s3/", "/s3express/"), None),
        ("http://127.0.0.1:9000/logs/raw/x", "", None),
    ],
)
def test_a_route_is_learned_only_from_what_is_understood(
    url: str, authorization: str | bytes, route: Route | None
) -> None:
    assert Route.of(Sent(url, authorization), "logs") == route
