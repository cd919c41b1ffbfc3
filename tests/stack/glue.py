"""AWS Glue's schema registry on loopback, as moto answers: the real one is not to be had. In memory.

moto itself is asked in a process of its own, because it changes the SDK of the process in which it is.
"""

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import boto3
from botocore import xform_name
from botocore.exceptions import ClientError

from tests.stack.http_server import Request, serving
from tests.stack.ports import LOOPBACK
from tests.stack.server import Server, accepts

REGION = "eu-central-1"
_KEYS: dict[str, Any] = {"aws_access_key_id": "AKIAEXAMPLE", "aws_secret_access_key": "example"}


class GlueRegistry(Server):
    """A registry ``events`` without any schema."""

    name = "glue"

    @property
    def url(self) -> str:
        """What `registry.url` is set to."""
        return f"glue://{REGION}/events"

    @property
    def environment(self) -> Mapping[str, str]:
        """By which the SDK of others finds it."""
        return {"AWS_ENDPOINT_URL_GLUE": f"http://{LOOPBACK}:{self.port}"}

    def register(self, name: str, text: str, kind: str = "AVRO") -> int:
        """Register a version of a schema; return its id, a UUID as a number."""
        api = self._client()
        try:
            named = {"SchemaName": name, "RegistryName": "events"}
            found = api.register_schema_version(SchemaId=named, SchemaDefinition=text)
        except api.exceptions.EntityNotFoundException:
            found = api.create_schema(
                RegistryId={"RegistryName": "events"}, SchemaName=name, SchemaDefinition=text,
                DataFormat=kind, Compatibility="NONE",
            )  # fmt: skip
        finally:
            api.close()
        return UUID(found["SchemaVersionId"]).int

    def _client(self) -> Any:
        return boto3.client("glue", REGION, endpoint_url=self.environment["AWS_ENDPOINT_URL_GLUE"], **_KEYS)

    def _command(self) -> Sequence[str]:
        return [sys.executable, "-m", "tests.stack.glue", str(self.port)]

    def _environment(self) -> Mapping[str, str]:
        return {"PYTHONPATH": str(Path(__file__).parents[2])}

    def _serves(self) -> bool:
        return accepts(self.port)


def _serve(port: int) -> None:
    """Answer on a port for ever."""
    from moto import mock_aws  # noqa: PLC0415 - in this process only

    def answer(request: Request) -> tuple[int, bytes]:
        operation = request.headers["x-amz-target"].partition(".")[2]
        try:
            status, said = 200, getattr(client, xform_name(operation))(**json.loads(request.body))
        except ClientError as error:
            found = error.response["Error"]
            status, said = 400, {"__type": found["Code"], "Message": found["Message"]}
        return status, json.dumps(said, default=str).encode()

    with mock_aws():
        client = boto3.client("glue", REGION, **_KEYS)
        client.create_registry(RegistryName="events")
        with serving(answer, headers={"Content-Type": "application/x-amz-json-1.1"}, place=(LOOPBACK, port)):
            threading.Event().wait()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
