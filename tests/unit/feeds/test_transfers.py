"""Requests by libcurl, against a server that misbehaves."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from logpersister.feeds.exchange import Answer, Request
from logpersister.feeds.transfers import Transfers
from tests.stack.authority import Authority
from tests.stack.feed_server import FeedServer, feeds


@pytest.fixture(scope="module")
def server() -> Iterator[FeedServer]:
    with feeds() as one:
        yield one


@pytest.fixture
def transfers() -> Iterator[Transfers]:
    one = Transfers(100)
    yield one
    one.close()


def fetch(transfers: Transfers, *requests: Request) -> list[Answer]:
    answers: dict[int, Answer] = {}
    for place, request in enumerate(requests):
        transfers.start(request, partial(answers.__setitem__, place))
    deadline = time.monotonic() + 20
    while len(answers) < len(requests) and time.monotonic() < deadline:
        transfers.turn(0.5)
    return [answers[place] for place in range(len(requests))]


def request(url: str, *headers: str, timeout: float = 5.0, max_bytes: int = 100_000, **others: str | bytes) -> Request:
    return Request(url, timeout, max_bytes, headers, **others)  # type: ignore[arg-type]


def test_an_answer_has_status_headers_and_body(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/steady/1"))
    assert (answer.status, answer.body, answer.error) == (200, b'{"steady": true}', None)
    assert answer.headers["etag"] == '"one"'
    assert answer.seconds > 0


def test_what_is_compressed_is_undone(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/gzip"))
    assert answer.body == b'{"packed": true}'


def test_a_conditional_request_has_no_body(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/steady/2", 'If-None-Match: "one"'))
    assert (answer.status, answer.body, answer.error) == (304, b"", None)


@pytest.mark.parametrize("path", ["huge", "bomb"])
def test_a_body_is_bounded_after_decompression(server: FeedServer, transfers: Transfers, path: str) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/{path}"))
    assert answer.error == "the answer is larger than maxBytes, 100000 bytes"
    assert answer.body == b""


@pytest.mark.parametrize("path", ["hang", "drip"])
def test_the_timeout_is_of_the_whole_answer(server: FeedServer, transfers: Transfers, path: str) -> None:
    began = time.monotonic()
    [answer] = fetch(transfers, request(f"{server.url}/{path}", timeout=0.4))
    assert answer.error == "no whole answer within the timeout"
    assert 0.3 < time.monotonic() - began < 5


def test_bodies_that_are_received_take_bounded_memory(
    server: FeedServer, transfers: Transfers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logpersister.feeds.transfers.MOST_BYTES", 2)
    answers: list[Answer] = []
    transfers.start(request(f"{server.url}/drip", timeout=0.5), answers.append)
    full = set()
    while not answers:
        full.add(transfers.is_full)
        transfers.turn(0.05)
    assert full == {False, True}
    assert not transfers.is_full


def test_what_ends_too_early_is_no_answer(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/short"))
    assert answer.error == "the answer ended too early"


def test_hosts_that_are_not_there_are_told_in_words(server: FeedServer, transfers: Transfers) -> None:
    nobody, nowhere = fetch(transfers, request("http://127.0.0.1:1/"), request("http://nowhere.invalid/"))
    assert nobody.error == "no connection came about"
    assert nowhere.error == "the name of the host does not resolve"


def test_a_body_is_posted(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/echo/1", "Content-Type: text/plain", body=b"question"))
    assert answer.body == b'{"method": "POST", "body": "question", "path": "/echo/1"}'


def test_handles_that_are_used_again_keep_nothing(server: FeedServer, transfers: Transfers) -> None:
    fetch(transfers, request(f"{server.url}/echo/2", "X-Key: secret", body=b"question"))
    [answer] = fetch(transfers, request(f"{server.url}/echo/3"))
    assert answer.body == b'{"method": "GET", "body": "", "path": "/echo/3"}'
    assert "x-key" not in server.asked("/echo/3")[0]


def test_slow_ones_keep_nobody_waiting(server: FeedServer, transfers: Transfers) -> None:
    slow = [request(f"{server.url}/hang", timeout=60.0) for _ in range(100)]
    for one in slow:
        transfers.start(one, lambda _: None)
    [answer] = fetch(transfers, request(f"{server.url}/steady/3"))
    assert answer.status == 200
    assert len(transfers) == 100, "they are still asked for"


def test_a_redirect_is_told_and_not_followed(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request(f"{server.url}/moved/1"))
    assert (answer.status, answer.redirect) == (302, f"{server.url}/echo/1")


def test_an_odd_etag_comes_back_as_it_was_and_injects_nothing(server: FeedServer, transfers: Transfers) -> None:
    [first] = fetch(transfers, request(f"{server.url}/odd"))
    assert first.headers["etag"] == "\xe9"
    [second] = fetch(transfers, request(f"{server.url}/odd", f"If-None-Match: {first.headers['etag']}"))
    assert second.status == 304
    assert "x-injected" not in server.asked("/odd")[1]


def test_a_proxy_is_asked_instead_of_the_server(server: FeedServer, transfers: Transfers) -> None:
    [answer] = fetch(transfers, request("http://shop.invalid/prices", proxy=server.url))
    assert answer.body == b'{"proxied": true}'
    assert server.asked("http://shop.invalid/prices")


def test_other_protocols_are_refused(transfers: Transfers, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    [answer] = fetch(transfers, request(f"file://{tmp_path}/secret"))
    assert answer.error is not None
    assert answer.body == b""


def test_a_server_is_believed_by_its_own_authority_only(transfers: Transfers, tmp_path: Path) -> None:
    authority = Authority("feeds")
    certificate, key = authority.server("localhost")
    pair = tmp_path / "server.pem"
    pair.write_bytes(certificate + key)
    with feeds(pair) as secured:
        url = f"{secured.url}/steady/1"
        good, bad, other = fetch(
            transfers,
            request(url, authority=authority.certificate.decode()),
            request(url),
            request(url, authority=Authority("others").certificate.decode()),
        )
    assert good.body == b'{"steady": true}'
    assert {bad.error, other.error} == {"the server's certificate is not accepted"}
