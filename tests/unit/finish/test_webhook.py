"""The webhook's client, with a real server: what it sends, what it makes of answers, and how it logs in."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

import pytest

from logpersister.finish.telling import Message, NotTakenError, RefusedError
from logpersister.finish.webhook import Webhook, key_of
from logpersister.manifest.blocks.telling import WebhookSpec
from logpersister.manifest.secrets import Secrets
from logpersister.storage.finished import FolderContent
from tests.stack.authority import Authority
from tests.stack.ports import free_port
from tests.stack.webhooks import Receiver, receiving

MESSAGE = Message(
    "g/logs/raw/clicks/dt=2026-03-28/1",
    "clicks/dt=2026-03-28",
    1,
    b'{"number":1}',
    FolderContent("clicks", "dt=2026-03-28", "", 1, {}, ()),
)


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def webhook(url: str, directory: Path | None = None, timeout: str = "10s", **keys: str) -> Webhook:
    spec = {"url": url, "timeout": timeout} | ({} if directory is None else {"secretName": "hook"})
    for name, value in keys.items():
        assert directory is not None
        (directory / "hook").mkdir(exist_ok=True)
        (directory / "hook" / name.replace("_", ".")).write_text(value)
    secrets = Secrets({"LOGPERSISTER_SECRETS_DIR": str(directory)} if directory is not None else {})
    return Webhook(WebhookSpec.model_validate(spec), secrets, lambda: 1_774_659_600.9)


def send(to: Webhook) -> None:
    with to.session() as take:
        take(MESSAGE)


def test_what_is_posted(server: Receiver) -> None:
    send(webhook(server.url + "?env=a"))
    (posted,) = server.posted
    assert (posted.path, posted.body) == ("/folders?env=a", MESSAGE.body)
    assert posted.headers["content-type"] == "application/json"
    assert posted.headers["idempotency-key"] == f'"{MESSAGE.id}"'
    assert posted.headers["user-agent"].startswith("logpersister/")
    assert not {"authorization", "webhook-signature"}.intersection(posted.headers)


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_statuses_that_speak_of_the_message_are_final(server: Receiver, status: int) -> None:
    server.answers = [(status, "no such\n field")]
    with pytest.raises(RefusedError, match=rf"it answered {status} \(no such field\)"):
        send(webhook(server.url))
    assert len(server.posted) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 408, 409, 429, 500, 503])
def test_others_are_told_later(server: Receiver, status: int) -> None:
    server.answers = [(status, "")]
    with pytest.raises(
        NotTakenError, match=rf"webhook {server.url}: it answered {status} \(without a word\)"
    ) as caught:
        send(webhook(server.url + "?key=hidden"))
    assert not isinstance(caught.value, RefusedError)
    assert len(server.posted) == 1, "whoever calls makes pauses"


def test_a_server_that_does_not_answer_in_time_or_is_not_there(server: Receiver) -> None:
    server.wait_seconds = 30
    with pytest.raises(NotTakenError, match="it did not answer in time"):
        send(webhook(server.url, timeout="1s"))
    with pytest.raises(NotTakenError, match=r"cannot be reached .connection refused"):
        send(webhook(f"http://127.0.0.1:{free_port()}"))


def test_a_token_and_a_signature(server: Receiver, tmp_path: Path) -> None:
    """As standardwebhooks.com says: id, time and body, each behind a dot."""
    key = base64.b64encode(b"0123456789abcdef01234567").decode()
    send(webhook(server.url, tmp_path, token="t0ken", hmacKey=f"whsec_{key}"))
    headers = server.posted[0].headers
    assert headers["authorization"] == "Bearer t0ken"
    assert (headers["webhook-id"], headers["webhook-timestamp"]) == (MESSAGE.id, "1774659600")
    signed = f"{MESSAGE.id}.1774659600.".encode() + MESSAGE.body
    digest = hmac.new(b"0123456789abcdef01234567", signed, hashlib.sha256).digest()
    assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"


def test_a_secret_that_was_rotated_is_read_again(server: Receiver, tmp_path: Path) -> None:
    to = webhook(server.url, tmp_path, token="old")
    send(to)
    (tmp_path / "hook" / "token").write_text("new\n")
    send(to)
    assert [one.headers["authorization"] for one in server.posted] == ["Bearer old", "Bearer new"]


@pytest.mark.parametrize("key", ["plain text", "whsec_cGxhaW4gdGV4dA=="])
def test_keys_with_and_without_base64(key: str) -> None:
    assert key_of(key) == b"plain text"


def test_a_certificate_of_an_authority_of_ones_own(tmp_path: Path) -> None:
    authority = Authority("Test")
    certificate, key = authority.server("localhost")
    (tmp_path / "both.pem").write_bytes(certificate + key)
    with receiving(tmp_path / "both.pem") as server:
        with pytest.raises(NotTakenError, match="its certificate is not trusted"):
            send(webhook(server.url))
        with pytest.raises(NotTakenError, match=r"cannot be reached .*certificate verify failed"):
            webhook(server.url).check()
        to = webhook(server.url, tmp_path, ca_crt=authority.certificate.decode())
        to.check()
        assert server.posted == [], "a check sends nothing"
        send(to)
        assert len(server.posted) == 1


def test_redirects_are_not_followed(server: Receiver) -> None:
    server.answers = [(307, "http://elsewhere/")]
    with pytest.raises(NotTakenError, match=r"it answered 307 .it points to http://elsewhere/."):
        send(webhook(server.url))
