"""The client of AWS Glue's schema registry, against moto, which answers as Glue does, and against errors."""

import json
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import boto3
import pytest
from botocore import exceptions as aws
from botocore.stub import Stubber
from moto import mock_aws

from logpersister.manifest import ManifestError
from logpersister.manifest.secrets import DIRECTORY_VARIABLE, AwsKeys, Secrets, SecretValue
from logpersister.registry import RegistryError, Schema
from logpersister.registry.connection import connector
from logpersister.registry.glue import GlueClient
from logpersister.values.registry import GluePlace, RegistrySpec

REGION = "eu-central-1"
URL = f"glue://{REGION}/clicks"
V1, V2, V3 = (
    json.dumps({"type": "record", "name": "Click", "fields": [{"name": "id", "type": type_, "default": 0}]})
    for type_ in ("int", "long", "double")
)
SECRET = "an example of a secret"
KEYS = AwsKeys(SecretValue("AKIAEXAMPLE", "here"), SecretValue(SECRET, "here"), None)


@dataclass
class Registered:
    """What is in a registry that moto plays."""

    api: Any

    def add(self, name: str, text: str, kind: str = "AVRO") -> UUID:
        named = {"SchemaName": name, "RegistryName": "clicks"}
        try:
            found = self.api.register_schema_version(SchemaId=named, SchemaDefinition=text)
        except self.api.exceptions.EntityNotFoundException:
            found = self.api.create_schema(
                RegistryId={"RegistryName": "clicks"}, SchemaName=name, DataFormat=kind, SchemaDefinition=text,
                Compatibility="NONE",
            )  # fmt: skip
        return UUID(found["SchemaVersionId"])


@pytest.fixture
def registered() -> Iterator[Registered]:
    with mock_aws():
        api = boto3.client("glue", REGION)
        api.create_registry(RegistryName="clicks")
        yield Registered(api)
        api.close()


@pytest.fixture(scope="module")
def connected() -> Iterator[GlueClient]:
    found = GlueClient(URL, GluePlace(REGION, "clicks"), KEYS, sleep=lambda _: None)
    yield found
    found.close()


@pytest.fixture
def client(connected: GlueClient) -> GlueClient:
    """Return a client that knows nothing yet; to load what the SDK knows of Glue takes a while."""
    found = copy(connected)
    found._schemas, found._versions = {}, {}
    return found


@pytest.mark.slow
def test_schemas_by_id_and_versions_by_number(registered: Registered, client: GlueClient) -> None:
    ids = [registered.add("clicks", text) for text in (V1, V2)]
    assert client.schema(ids[0].int) == Schema(V1, "AVRO")
    assert client.version("clicks", 1).id == ids[0].int
    assert client.versions("clicks") == (1, 2)
    latest = client.latest("clicks")
    assert (latest.version, latest.id, latest.schema) == (2, ids[1].int, Schema(V2, "AVRO"))
    newest = registered.add("clicks", V3)
    assert client.latest("clicks").id == newest.int, "which version is the latest is asked for each time"
    client.reach()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "told"),
    [
        (lambda client: client.latest("views"), "asking for the latest version of schema 'views'"),
        (lambda client: client.version("clicks", 3), "asking for version 3 of schema 'clicks'"),
    ],
)
def test_what_is_not_there_is_unknown(registered: Registered, client: GlueClient, question: Any, told: str) -> None:
    registered.add("clicks", V1)
    with pytest.raises(RegistryError, match="it answered 400 EntityNotFoundException") as caught:
        question(client)
    assert f"({told})" in str(caught.value)
    assert caught.value.kind == "unknown"
    assert not caught.value.retriable


def answer(number: int, status: str = "AVAILABLE") -> dict[str, Any]:
    return {
        "SchemaVersionId": str(UUID(int=number)), "SchemaDefinition": V1, "DataFormat": "AVRO",
        "VersionNumber": number, "Status": status,
    }  # fmt: skip


def stubbed(client: GlueClient, *answers: dict[str, Any] | str) -> Stubber:
    """Let the SDK find these answers, each a version or the code of an error."""
    stub = Stubber(client._client)
    for one in answers:
        if isinstance(one, str):
            code, _, status = one.partition(" ")
            stub.add_client_error("get_schema_version", code, "of example", int(status or 400))
        else:
            stub.add_response("get_schema_version", one)
    stub.activate()
    return stub


def test_versions_that_are_not_available_are_none(client: GlueClient) -> None:
    unready = answer(3, "FAILURE"), answer(2, "DELETING"), answer(1)
    with stubbed(client, *unready):
        assert client.latest("clicks").version == 1
    with stubbed(client, answer(4), answer(2, "PENDING"), answer(3)):
        assert client.versions("clicks") == (1, 3, 4)
    with stubbed(client, answer(2, "PENDING")), pytest.raises(RegistryError, match="its status is PENDING") as caught:
        client.version("clicks", 2)
    assert caught.value.kind == "unknown"
    with (
        stubbed(client, answer(2, "PENDING"), answer(1, "FAILURE")),
        pytest.raises(RegistryError, match="'views' has no version that is available"),
    ):
        client.latest("views")


def test_what_may_pass_is_asked_again(client: GlueClient) -> None:
    with stubbed(client, "ThrottlingException", "InternalServiceException 500", answer(1)) as stub:
        assert client.latest("clicks").version == 1
        stub.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("code", "kind", "asked"),
    [
        ("AccessDeniedException", "unauthorized", 1),
        ("InvalidInputException", "rejected", 1),
        ("ThrottlingException", "throttled", 4),
        ("Unheard 503", "other", 4),
    ],
)
def test_errors_of_glue(client: GlueClient, code: str, kind: str, asked: int) -> None:
    with stubbed(client, *[code] * asked) as stub:
        with pytest.raises(RegistryError, match="asking for the latest version of schema 'clicks'") as caught:
            client.latest("clicks")
        stub.assert_no_pending_responses()
    assert caught.value.kind == kind
    with stubbed(client, *[code] * asked), pytest.raises(RegistryError) as caught:
        client.reach()
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (aws.EndpointConnectionError(endpoint_url="https://glue.example"), "unreachable"),
        (aws.ReadTimeoutError(endpoint_url="https://glue.example"), "timeout"),
        (aws.NoCredentialsError(), "unauthorized"),
        (OSError("a name"), "unreachable"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_errors_on_the_way(client: GlueClient, cause: Exception, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise cause

    monkeypatch.setattr(client._client, "get_schema_version", fail)
    with pytest.raises(RegistryError) as caught:
        client.schema(1)
    assert caught.value.kind == kind


def test_no_error_has_a_secret_in_it(client: GlueClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise OSError(f"http://{SECRET}@glue.example")

    monkeypatch.setattr(client._client, "get_schema_version", fail)
    with pytest.raises(RegistryError, match=r"http://\[hidden\]@glue"):
        client.schema(1)


def test_keys_are_those_of_the_secret_or_of_the_sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "aws").mkdir()
    (tmp_path / "aws" / "AWS_ACCESS_KEY_ID").write_text("of the Secret\n")
    (tmp_path / "aws" / "AWS_SECRET_ACCESS_KEY").write_text(SECRET)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "of the SDK")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    secrets = Secrets({DIRECTORY_VARIABLE: str(tmp_path)})
    by_secret, by_sdk = (
        connector(RegistrySpec.model_validate({"url": f"glue://{REGION}", **options}), secrets, "avro")
        for options in ({"secretName": "aws"}, {})
    )
    for connect, expected in ((by_secret, "of the Secret"), (by_sdk, "of the SDK")):
        found = connect()
        assert isinstance(found, GlueClient)
        assert found._client._request_signer._credentials.access_key == expected
        found.close()
    (tmp_path / "aws" / "AWS_SECRET_ACCESS_KEY").unlink()
    with pytest.raises(ManifestError, match="AWS_SECRET_ACCESS_KEY"):
        by_secret()
