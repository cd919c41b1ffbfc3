"""The login of a catalog, and what of a manifest reaches pyiceberg."""

import json
import socket
from typing import Any

import pytest

from logpersister.manifest import ManifestError
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.blocks.table import CatalogSpec
from logpersister.manifest.secrets import Secrets
from logpersister.tables import catalog as catalog_module
from logpersister.tables.access import catalog_login
from logpersister.tables.catalog import _connection, _files, open_catalog
from logpersister.tables.errors import TableError
from tests.stack.http_server import Request, serving

STORAGE = {"bucket": "logs", "endpoint": "http://127.0.0.1:9000"}
NOWHERE = StorageSpec.model_validate(STORAGE)


def secrets(**keys: str) -> Secrets:
    found = {f"LOGPERSISTER_SECRET_LOGIN_{key.upper()}": value for key, value in keys.items()}
    return Secrets(
        found | {"LOGPERSISTER_SECRET_S3_AWS_ACCESS_KEY_ID": "a", "LOGPERSISTER_SECRET_S3_AWS_SECRET_ACCESS_KEY": "b"}
    )


def catalog(**fields: Any) -> CatalogSpec:
    return CatalogSpec.model_validate({"type": "rest", "uri": "https://c", "secretName": "login"} | fields)


def test_a_rest_catalog_takes_a_token_or_a_credential() -> None:
    assert _connection(catalog(), NOWHERE, secrets(token="t"))["token"] == "t"
    found = _connection(catalog(warehouse="w"), NOWHERE, secrets(token="t", credential="id:secret"))
    assert found == {"type": "rest", "uri": "https://c", "warehouse": "w", "credential": "id:secret"}
    assert "token" not in _connection(catalog(secretName=None), NOWHERE, secrets())


def test_a_database_takes_user_and_password_and_has_deadlines() -> None:
    spec = catalog(type="sql", uri="postgresql+psycopg2://db:5432/c?sslmode=require")
    uri = _connection(spec, NOWHERE, secrets(username="me", password="p@ss/word"))["uri"]
    assert uri.startswith("postgresql+psycopg2://me:p%40ss%2Fword@db:5432/c?")
    assert {"sslmode=require", "connect_timeout=10", "tcp_user_timeout=60000"} == set(uri.partition("?")[2].split("&"))


def test_glue_takes_the_keys_of_its_secret_or_those_of_the_bucket() -> None:
    glue = catalog(type="glue", uri=None, region="eu-west-1", secretName=None)
    assert _connection(glue, NOWHERE, secrets()) == {"type": "glue", "glue.region": "eu-west-1"}
    bucket = StorageSpec.model_validate(STORAGE | {"secretName": "s3", "region": "eu-north-1"})
    found = _connection(catalog(type="glue", uri="http://glue", secretName=None), bucket, secrets())
    assert found == {
        "type": "glue",
        "glue.endpoint": "http://glue",
        "glue.region": "eu-north-1",
        "glue.access-key-id": "a",
        "glue.secret-access-key": "b",
    }
    own = secrets(aws_access_key_id="c", aws_secret_access_key="d", aws_session_token="e")
    found = _connection(catalog(type="glue", uri=None), bucket, own)
    assert (found["glue.access-key-id"], found["glue.session-token"]) == ("c", "e")
    with pytest.raises(ManifestError, match=r"spec\.table\.catalog\.secretName"):
        _connection(catalog(type="glue", uri=None), bucket, secrets())


@pytest.mark.parametrize("spec", [catalog(), catalog(type="sql", uri="postgresql+psycopg2://db/c")])
def test_a_missing_key_is_found_at_the_start(spec: CatalogSpec) -> None:
    with pytest.raises(ManifestError, match=r"spec\.table\.catalog\.secretName"):
        catalog_login(spec, secrets(username="me"))


@pytest.mark.parametrize("token", ["first line\nsecond", "two words", "\u20acuro"])
def test_a_token_that_no_header_can_have_is_never_sent(token: str) -> None:
    with pytest.raises(ManifestError, match="whose key token has characters that no header can have") as error:
        catalog_login(catalog(), secrets(token=token))
    assert token not in str(error.value)


def test_the_bucket_is_reached_as_by_members() -> None:
    found = _files(StorageSpec.model_validate(STORAGE | {"secretName": "s3"}), secrets())
    assert (found["s3.endpoint"], found["s3.access-key-id"], found["s3.secret-access-key"]) == (
        STORAGE["endpoint"],
        "a",
        "b",
    )
    assert (found["s3.force-virtual-addressing"], found["s3.region"]) == ("false", "us-east-1")
    assert "s3.endpoint" not in _files(StorageSpec(bucket="logs"), secrets())


@pytest.mark.parametrize("login", [{"token": "t"}, {"credential": "id:secret"}])
def test_a_catalog_that_accepts_and_says_nothing_is_not_waited_for(
    login: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for its configuration, and not for a login either."""
    monkeypatch.setattr(catalog_module, "READ_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"http://127.0.0.1:{silent.getsockname()[1]}"
        told = {"oauth2-server-uri": f"{uri}/tokens"}
        with pytest.raises(TableError, match="Read timed out") as error:
            open_catalog(catalog(uri=uri, properties=told), StorageSpec(bucket="logs"), secrets(**login))
    assert error.value.retriable
    assert "secret" not in str(error.value)


class CatalogOfTokens:
    """A REST catalog without tables, whose tokens are short-lived, and whose token server refuses who shows one."""

    def __init__(self) -> None:
        self.valid = ""
        self.issued = 0
        self.status = 200
        """Of the token server."""

    def answer(self, request: Request) -> tuple[int, bytes]:
        status, document = self._respond(request.path, request.headers.get("authorization", ""))
        return status, json.dumps(document).encode()

    def _respond(self, path: str, authorization: str) -> tuple[int, object]:
        if path.startswith("/tokens"):
            if authorization or self.status != 200:
                return (401 if authorization else self.status), {"error": "invalid_request"}
            self.issued += 1
            self.valid = f"token-{self.issued}"
            return 200, {"access_token": self.valid, "token_type": "bearer", "expires_in": 1}
        if authorization != f"Bearer {self.valid}":
            return 401, {"error": {"message": "expired", "type": "NotAuthorizedException", "code": 401}}
        return 200, {"namespaces": [["raw"]]} if "namespaces" in path else {"defaults": {}, "overrides": {}}


def test_a_token_of_a_catalog_that_expires_is_renewed_also_after_a_bad_minute() -> None:
    served = CatalogOfTokens()
    with serving(served.answer) as url:
        spec = catalog(uri=url, properties={"oauth2-server-uri": f"{url}/tokens"})
        opened = open_catalog(spec, StorageSpec(bucket="logs"), secrets(credential="id:secret"))
        assert opened.list_namespaces() == [("raw",)]
        served.valid = "expired"
        assert opened.list_namespaces() == [("raw",)]
        served.valid, served.status = "expired", 503
        with pytest.raises(Exception, match=r".") as refused:
            opened.list_namespaces()
        assert "secret" not in str(refused.value)
        served.status = 200
        assert opened.list_namespaces() == [("raw",)]
        opened.close()
