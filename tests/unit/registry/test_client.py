"""The client of schema registries against servers that misbehave; with a real one it is in tests/integration."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest

from logpersister.forms.problems import ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.registry import RegistryAccess, RegistryClient, RegistryError, Schema, access
from logpersister.registry import client as client_module
from logpersister.registry.connection import Connection, connector
from logpersister.values.registry import RegistrySpec
from tests.stack.http_server import Request, serving, silent
from tests.stack.ports import free_port
from tests.stack.tls import Certificates

GOOD = {"subject": "t-value", "version": 3, "id": 7, "schema": '"string"'}
Answer = tuple[int, object]


@dataclass
class FakeRegistry:
    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    """In turn; the last one for ever."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Paths, with how the client has logged in."""


@pytest.fixture
def fake() -> Iterator[FakeRegistry]:
    found = FakeRegistry()

    def answer(request: Request) -> tuple[int, bytes]:
        found.asked.append((request.path, request.headers.get("authorization")))
        status, body = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
        return status, body if isinstance(body, bytes) else json.dumps(body).encode()

    with serving(answer) as found.url:
        yield found


@pytest.fixture
def client() -> Iterator[Callable[..., RegistryClient]]:
    opened: list[RegistryClient] = []

    def open_client(url: str, pauses: list[float] | None = None, **options: object) -> RegistryClient:
        sleep = (pauses if pauses is not None else []).append
        opened.append(RegistryClient(RegistryAccess(url, **options), sleep=sleep))  # type: ignore[arg-type]
        return opened[-1]

    yield open_client
    for one in opened:
        one.close()


def test_what_never_changes_is_asked_for_once(fake: FakeRegistry, client: Callable[..., RegistryClient]) -> None:
    fake.answers = [(200, GOOD)]
    registry = client(fake.url)
    assert registry.latest("a/b c").version == 3
    assert fake.asked == [("/subjects/a%2Fb%20c/versions/latest", None)]
    assert registry.version("a/b c", 3).id == 7
    assert registry.schema(7) == Schema('"string"', "AVRO")
    assert len(fake.asked) == 1
    registry.latest("a/b c")
    assert len(fake.asked) == 2


def test_what_a_schema_refers_to_keeps_its_name(fake: FakeRegistry, client: Callable[..., RegistryClient]) -> None:
    reference = {"name": "geo/place.proto", "subject": "place", "version": 1}
    fake.answers = [(200, {**GOOD, "references": [reference]}), (200, GOOD)]
    assert client(fake.url).schema(7).references == (Schema('"string"', "AVRO", name="geo/place.proto"),)


def test_what_may_pass_is_asked_again(fake: FakeRegistry, client: Callable[..., RegistryClient]) -> None:
    fake.answers = [(503, b"later"), (429, {"message": "slow"}), (200, GOOD)]
    pauses: list[float] = []
    assert client(fake.url, pauses).schema(7).text == '"string"'
    assert len(pauses) == 2
    assert 0.25 <= pauses[0] <= 0.5 <= pauses[1] <= 1


def test_the_next_address_is_asked_where_one_does_not_answer(
    fake: FakeRegistry, client: Callable[..., RegistryClient]
) -> None:
    fake.answers = [(200, GOOD)]
    pauses: list[float] = []
    registry = client(f"http://127.0.0.1:{free_port()},{fake.url}/", pauses)
    assert registry.latest("a").version == 3
    assert (registry.latest("a").version, len(fake.asked), pauses) == (3, 2, [])
    fake.answers = [(404, {"error_code": 40401, "message": "none"})]
    with pytest.raises(RegistryError, match=f"schema registry {fake.url}: .*none"):
        registry.latest("b")


def test_the_next_address_is_asked_where_something_else_answers(
    fake: FakeRegistry, client: Callable[..., RegistryClient]
) -> None:
    registry = client(f"{fake.url}/a,{fake.url}/b")
    no_registry: list[Answer] = [(401, {}), (200, b"<html>"), (404, b"<html>")]
    for wrong in no_registry:
        fake.answers = [wrong, (200, GOOD)]
        assert registry.latest("a").version == 3
    fake.answers = [(503, {}), (401, {})] * 4
    with pytest.raises(RegistryError, match="503") as caught:
        registry.latest("a")
    assert caught.value.retriable, "the other one may be back soon"


GUID = UUID("59e8adcb-3a8e-3c0d-9dca-5e3a7a2b4c41")


def test_a_guid_has_the_id_of_the_default_context(fake: FakeRegistry, client: Callable[..., RegistryClient]) -> None:
    fake.answers = [(200, [{"context": ":.other:", "id": 3}, {"context": ".", "id": 7}])]
    assert client(fake.url).id_of(GUID) == 7
    assert fake.asked == [(f"/schemas/guids/{GUID}/ids", None)]
    answers: list[tuple[Answer, str]] = [
        ((200, [{"context": ":.other:", "id": 3}]), "unknown"),
        ((200, []), "unknown"),
        ((404, {"error_code": 40403, "message": "Schema not found"}), "unknown"),
        ((404, {"error_code": 404, "message": "HTTP 404 Not Found"}), "unsupported"),
        ((404, b"<html>"), "unsupported"),
        ((403, {}), "unauthorized"),
    ]
    for answer, kind in answers:
        fake.answers = [answer]
        with pytest.raises(RegistryError) as caught:
            client(fake.url).id_of(GUID)
        assert caught.value.kind == kind, answer


@pytest.mark.parametrize(
    ("answer", "kind", "told", "asked"),
    [
        ((404, {"error_code": 40403, "message": "Schema 7 not found"}), "unknown", "404 40403 .Schema 7 not found", 1),
        ((404, {"message": "no such page"}), "rejected", "check the url", 1),
        ((200, b"<html>"), "rejected", "no JSON", 1),
        ((200, {"hello": "world"}), "rejected", "no schema, as no schema registry", 1),
        ((200, {**GOOD, "references": [{"name": "x"}]}), "rejected", "without subject and version", 1),
        ((200, {**GOOD, "references": [{"subject": "s", "version": 1}]}), "rejected", "refers to itself", 2),
        ((401, {"message": "who?"}), "unauthorized", "Secret that secretName of its registry names", 1),
        ((500, {"error_code": 50001, "message": "store"}), "other", "500 50001 .store.*its own logs", 4),
    ],
)
def test_errors_say_what_was_found_and_what_to_do(
    fake: FakeRegistry, client: Callable[..., RegistryClient], answer: Answer, kind: str, told: str, asked: int
) -> None:
    fake.answers = [answer]
    with pytest.raises(RegistryError, match=told) as caught:
        client(fake.url).schema(7)
    assert (caught.value.kind, len(fake.asked)) == (kind, asked)
    assert f"schema registry {fake.url}: " in str(caught.value)
    assert "(asking for schema 7)" in str(caught.value)


def test_nobody_listens(client: Callable[..., RegistryClient]) -> None:
    with pytest.raises(RegistryError, match=r"cannot be reached \(connection refused") as caught:
        client(f"http://127.0.0.1:{free_port()}").schema(7)
    assert caught.value.kind == "unreachable"
    assert caught.value.retriable


def test_a_server_that_never_answers_is_not_asked_twice_by_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "READ_SECONDS", 0.1)
    pauses: list[float] = []
    with (
        silent() as url,
        closing(RegistryClient(access(url, None, Secrets({}), ""), sleep=pauses.append)) as asked,
        pytest.raises(RegistryError) as caught,
    ):
        asked.schema(7)
    assert (caught.value.kind, pauses) == ("timeout", [])


def secrets(directory: Path, **keys: str) -> Secrets:
    for name, value in keys.items():
        (directory / "registry").mkdir(exist_ok=True)
        (directory / "registry" / name.replace("_", ".")).write_text(value)
    return Secrets({"LOGPERSISTER_SECRETS_DIR": str(directory)})


@pytest.mark.parametrize(
    ("keys", "login"),
    [
        ({"username": "u", "password": "p:ä"}, "Basic dTpwOsOk"),
        ({"token": "t0ken"}, "Bearer t0ken"),
    ],
)
def test_logins(
    fake: FakeRegistry, client: Callable[..., RegistryClient], tmp_path: Path, keys: dict[str, str], login: str
) -> None:
    found = access(fake.url + "/", "registry", secrets(tmp_path, **keys), "spec.x")
    assert not any(secret in repr(found) for secret in keys.values() if len(secret) > 1)
    fake.answers = [(200, GOOD)]
    client(found.url, headers=found.headers).schema(7)
    assert fake.asked == [("/schemas/ids/7", login)]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, "whose key username was not found"),
        ({"username": "u"}, "whose key password was not found"),
        ({"ca_crt": "no"}, "ca.crt is not a certificate in PEM"),
    ],
)
def test_a_secret_without_what_it_takes(tmp_path: Path, keys: dict[str, str], told: str) -> None:
    with pytest.raises(ManifestError, match=told):
        access("https://r", "registry", secrets(tmp_path, **keys), "spec.x")


def test_a_rotated_secret_reaches_a_registry_that_is_asked_already(fake: FakeRegistry, tmp_path: Path) -> None:
    secret = tmp_path / "r"
    secret.mkdir()
    (secret / "token").write_text("one")
    spec = RegistrySpec(url=fake.url, secret_name="r")
    connection = Connection(connector(spec, Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)}), "avro"))
    fake.answers = [(200, GOOD), (403, {}), (401, {}), (200, GOOD)]
    connection.ask(lambda client: client.latest("t-value"))
    with pytest.raises(RegistryError, match="answered 403"):
        connection.ask(lambda client: client.latest("others-value"))
    assert connection.ask(lambda client: client.version("t-value", 3)).version == 3  # nobody was asked for it again
    (secret / "token").write_text("two")
    with pytest.raises(RegistryError) as refused:
        connection.ask(lambda client: client.latest("t-value"))
    assert refused.value.kind == "unauthorized"
    connection.ask(lambda client: client.latest("t-value"))
    assert [login for _, login in fake.asked] == ["Bearer one"] * 3 + ["Bearer two"]
    connection.close()


def test_a_rotated_authority_is_trusted_and_what_is_known_is_kept_till_then(tmp_path: Path) -> None:
    """A registry that cannot be reached costs nobody the schemas that are known already."""
    secret = Certificates(tmp_path / "other").write_secret(tmp_path, "r")
    right = Certificates(tmp_path / "right")
    with serving(lambda _: (200, json.dumps(GOOD).encode()), right.broker) as url:
        spec = RegistrySpec(url=url, secret_name="r")
        connection = Connection(connector(spec, Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)}), "avro"))
        for _ in range(2):
            before = connection._client
            with pytest.raises(RegistryError) as refused:
                connection.ask(lambda client: client.latest("t-value"))
            assert (refused.value.kind, connection._client is before) == ("unreachable", True)
        (secret / "ca.crt").write_bytes(right.authority.read_bytes())
        with pytest.raises(RegistryError):
            connection.ask(lambda client: client.latest("t-value"))
        assert connection.ask(lambda client: client.latest("t-value")).version == 3
        connection.close()
