"""Redirects, limits of hosts, and secrets in what is sent."""

import pytest

from logpersister.feeds.exchange import Answer, Request, redirected
from logpersister.feeds.hosts import HostLimit
from logpersister.feeds.secret_texts import FRESH_SECONDS, SecretText, SecretValues
from logpersister.forms.problems import ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.report import logs

HEADERS = ("Accept: */*", "X-Key: secret", "Content-Type: text/plain")
URL = "https://shop.example.com/prices"


def moved(to: str | None, status: int = 302, **request: bytes) -> Request | None:
    asked = Request(URL, 10.0, 1000, HEADERS, **request)  # type: ignore[arg-type]
    return redirected(asked, Answer(status, seconds=4.0, redirect=to))


def test_a_redirect_of_the_same_server_takes_all_headers_along() -> None:
    found = moved("https://shop.example.com:443/new")
    assert found is not None
    assert found.url.endswith("/new")
    assert found.headers == ("Accept: */*", "X-Key: secret")
    assert found.timeout == pytest.approx(6.0)


@pytest.mark.parametrize(
    "to",
    ["https://evil.example.com/", "http://shop.example.com/prices", "https://shop.example.com:8443/", "https://x:y/"],
)
def test_another_server_gets_no_secret(to: str) -> None:
    found = moved(to)
    assert found is not None
    assert found.headers == ("Accept: */*",)
    assert moved(to, 307, body=b"secret") is None


def test_a_body_goes_along_only_where_the_status_says_so() -> None:
    same = "https://shop.example.com/new"
    for status, body in {301: None, 302: None, 303: None, 307: b"question", 308: b"question"}.items():
        found = moved(same, status, body=b"question")
        assert found is not None
        assert found.body == body
        assert ("Content-Type: text/plain" in found.headers) == (body is not None)


@pytest.mark.parametrize(
    ("status", "to"),
    [(200, "https://x/"), (304, "https://x/"), (302, None), (302, "http://[bad/"), (307, "http://[x]/")],
)
def test_what_is_no_redirect_is_the_answer(status: int, to: str | None) -> None:
    assert moved(to, status) is None


def test_secrets_are_not_shown() -> None:
    assert "secret" not in repr(Request(f"{URL}?key=secret", 1.0, 1, ("X-Key: secret",), b"secret", "http://secret"))


def test_a_host_has_so_many_requests_at_once() -> None:
    started: list[str] = []
    limit: HostLimit[str] = HostLimit(2, started.append)
    for name in ("a", "b", "c", "d"):
        limit.ask("one", name)
    limit.ask("other", "e")
    assert started == ["a", "b", "e"]
    limit.ended("one")
    assert started == ["a", "b", "e", "c"]
    for _ in range(3):
        limit.ended("one")
    limit.ask("one", "f")
    assert started[4:] == ["d", "f"]


def test_a_secret_in_a_url_cannot_change_what_the_url_means() -> None:
    values = SecretValues(Secrets({"LOGPERSISTER_SECRET_SHOP_KEY": "a&b=/c@d"}))
    text = "https://x/?key=${secret:shop/key}&n=1"
    assert SecretText.of(text, "at", values, is_url=True).reveal() == "https://x/?key=a%26b%3D%2Fc%40d&n=1"
    assert SecretText.of("Bearer ${secret:shop/key}", "at", values).reveal() == "Bearer a&b=/c@d"


def test_a_rotated_secret_is_used_soon_and_one_that_is_gone_still() -> None:
    now, environment = [0.0], {"LOGPERSISTER_SECRET_SHOP_KEY": "old"}
    text = SecretText.of("${secret:shop/key}", "at", SecretValues(Secrets(environment), lambda: now[0]))
    assert text.reveal() == "old"
    environment["LOGPERSISTER_SECRET_SHOP_KEY"] = "new"
    assert text.reveal() == "old"
    now[0] += FRESH_SECONDS
    assert text.reveal() == "new"
    del environment["LOGPERSISTER_SECRET_SHOP_KEY"]
    now[0] += FRESH_SECONDS
    assert text.reveal() == "new"


def test_a_secret_that_becomes_unusable_is_used_as_it_was() -> None:
    now, environment = [0.0], {"LOGPERSISTER_SECRET_SHOP_KEY": "old"}
    text = SecretText.of("${secret:shop/key}", "at", SecretValues(Secrets(environment), lambda: now[0]))
    assert text.reveal() == "old"
    for bad in ("rot\u20acated", "two\nlines", "\0"):
        environment["LOGPERSISTER_SECRET_SHOP_KEY"] = bad
        now[0] += FRESH_SECONDS
        assert text.reveal() == "old"
    environment["LOGPERSISTER_SECRET_SHOP_KEY"] = "new"
    now[0] += FRESH_SECONDS
    assert text.reveal() == "new"


def test_what_a_server_repeats_of_a_secret_in_a_url_is_hidden() -> None:
    values = SecretValues(Secrets({"LOGPERSISTER_SECRET_SHOP_KEY": "sesame&open"}))
    url = SecretText.of("https://x/?key=${secret:shop/key}", "at", values, is_url=True).reveal()
    assert "sesame" not in logs.redactor.text(f"content type {url}")


@pytest.mark.parametrize("environment", [{}, {"LOGPERSISTER_SECRET_SHOP_KEY": "two\nlines"}])
def test_a_secret_that_cannot_be_used_is_told_with_its_field(environment: dict[str, str]) -> None:
    with pytest.raises(ManifestError, match=r"^spec\.feeds\[3\]\.url: names .*(shop|key)") as told:
        SecretText.of("${secret:shop/key}", "spec.feeds[3].url", SecretValues(Secrets(environment))).reveal()
    assert "lines" not in str(told.value)
