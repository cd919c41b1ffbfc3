"""Tokens: from the Secret, or from an identity provider that is asked anew in time."""

import pickle
import time
from collections.abc import Iterator

import pytest
from kafka.net.sasl import get_sasl_mechanism

from logpersister.kafka_client import oauth
from logpersister.kafka_client.oauth import ClientCredentials, TokenError, token_provider
from logpersister.manifest import ManifestError
from logpersister.manifest.secrets import Secrets
from tests.stack.http_server import silent
from tests.stack.identity_provider import IdentityProvider, identity_provider

SECRET = "hunter2-very-secret"


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as serving:
        yield serving


def secrets(**values: str) -> Secrets:
    return Secrets({f"LOGPERSISTER_SECRET_K_{key.upper()}": value for key, value in values.items()})


def credentials(url: str, **more: str) -> Secrets:
    return secrets(token_url=url, client_id="logs", client_secret=SECRET, **more)


def test_a_token_that_a_broker_refuses_is_fetched_anew_and_not_at_each_login(provider: IdentityProvider) -> None:
    now = [1000.0]
    found = ClientCredentials("k", credentials(provider.url), clock=lambda: now[0])

    def refused() -> str:
        login = get_sasl_mechanism("OAUTHBEARER")(sasl_oauth_token_provider=found)
        token: str = login.auth_bytes().decode().split("\x01")[1]
        login.receive(b'{"status":"invalid_token"}')
        return token.removeprefix("auth=Bearer ")

    assert [refused(), refused()] == ["token-1", "token-1"]
    now[0] += 60
    assert [refused(), refused(), refused()] == ["token-1", "token-2", "token-2"]


def test_a_provider_that_takes_the_secret_as_http_basic_only(provider: IdentityProvider) -> None:
    provider.basic_only = "a%3Ab:p%25%2B"
    now = [0.0]
    found = ClientCredentials(
        "k", secrets(token_url=provider.url, client_id="a:b", client_secret="p%+"), clock=lambda: now[0]
    )
    assert found.token() == "token-2"
    now[0] += 100
    assert found.token() == "token-3"  # without the form, which it refused
    assert provider.asked[1:] == [{"grant_type": ["client_credentials"]}] * 2


@pytest.mark.parametrize("kind", [{"token": "t"}, {"token_url": "https://a", "client_id": "b", "client_secret": "c"}])
def test_extensions_are_sent_at_the_login(kind: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClientCredentials, "token", lambda _: "t")
    found = token_provider("k", secrets(**kind, extensions="logicalCluster=lkc-1,identityPoolId=pool-2"))
    mechanism = get_sasl_mechanism("OAUTHBEARER")(host="a", sasl_oauth_token_provider=found)
    expected = b"n,,\x01auth=Bearer t\x01logicalCluster=lkc-1\x01identityPoolId=pool-2\x01\x01"
    assert mechanism.auth_bytes() == expected


def test_a_token_is_kept_for_most_of_its_life(provider: IdentityProvider) -> None:
    now = [1000.0]
    found = ClientCredentials("k", credentials(provider.url), clock=lambda: now[0])
    assert [found.token(), found.token()] == ["token-1", "token-1"]
    now[0] += 79
    assert found.token() == "token-1"
    now[0] += 2
    assert found.token() == "token-2"
    assert "scope" not in provider.asked[0]


@pytest.mark.parametrize(
    ("status", "answer", "expected"),
    [
        (401, {"error": "invalid_client", "error_description": SECRET}, "answered 401 invalid_client; check token-url"),
        (400, {"error": SECRET}, "answered 400; check"),
        (500, ["x"], "answered 500;"),
        (200, {"error": "x"}, "gave no access_token"),
        (200, {"access_token": ""}, "gave no access_token"),
        (200, ["token"], "gave no access_token"),
    ],
)
def test_refusals_are_named_without_secrets(
    provider: IdentityProvider, status: int, answer: object, expected: str
) -> None:
    provider.status, provider.answer = status, answer
    with pytest.raises(TokenError) as caught:
        token_provider("k", credentials(provider.url)).token()
    assert expected in str(caught.value)
    assert "the identity provider 127.0.0.1" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_bad_minute_of_the_provider_costs_no_login(provider: IdentityProvider) -> None:
    """What is valid still is used until it is valid no more, and the provider is asked again meanwhile."""
    now = [1000.0]
    found = ClientCredentials("k", credentials(provider.url), clock=lambda: now[0])
    assert found.token() == "token-1"
    provider.status = 503
    for later in (81, 82.5):
        now[0] = 1000 + later
        assert [found.token(), found.token()] == ["token-1", "token-1"]
    assert len(provider.asked) == 3, "once a second at most"
    now[0] = 1100
    with pytest.raises(TokenError, match="answered 503"):
        found.token()
    provider.status = 200
    assert found.token() == "token-5"


def test_a_provider_that_never_answers_keeps_no_login_with_a_valid_token_waiting(
    provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(oauth, "_TIMEOUT_SECONDS", 5.0)
    now, began = [1000.0], time.monotonic()
    found = ClientCredentials("k", credentials(provider.url), clock=lambda: now[0])
    assert found.token() == "token-1"
    with silent() as there:
        found._secrets = credentials(there)
        now[0] += 81
        assert [found.token() for _ in range(3)] == ["token-1"] * 3
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "has neither token nor token-url; add the key token, or token-url, client-id and client-secret"),
        ({"token": ""}, "whose key token is empty"),
        ({"token": "t", "extensions": "lkc-1"}, "whose key extensions is not NAME=VALUE; write for example logical"),
        ({"token_url": "https://a/token", "client_id": "a"}, "whose key client-secret was not found"),
        ({"token_url": "https://a/token", "client_secret": "a"}, "whose key client-id was not found"),
        ({"token_url": "file:///etc/passwd", "client_id": "a", "client_secret": "b"}, "is not an http or https URL"),
    ],
)
def test_incomplete_secrets_are_named(values: dict[str, str], expected: str) -> None:
    with pytest.raises(ManifestError) as caught:
        token_provider("k", secrets(**values))
    assert expected in str(caught.value)


@pytest.mark.parametrize("values", [{"token": "a"}, {"token_url": "https://a", "client_id": "b", "client_secret": "c"}])
def test_providers_are_not_pickled(values: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(token_provider("k", secrets(**values)))
