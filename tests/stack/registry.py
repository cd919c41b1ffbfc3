"""Apicurio on loopback, a schema registry that speaks Confluent's API. In memory: what dies with it is gone."""

import json
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

from tests.stack import artifacts
from tests.stack.ports import LOOPBACK, free_port
from tests.stack.scratch import of_java
from tests.stack.server import Server, answers

_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class SchemaRegistry(Server):
    """A registry without any schema; some 10 s to start and 260 MiB, so only tests that need one start it."""

    name = "registry"
    path = "/apis/ccompat/v7"
    """Of Confluent's API."""

    @property
    def url(self) -> str:
        """What `spec.schema.registry.url` is set to."""
        return f"http://{LOOPBACK}:{self.port}{self.path}"

    def register(
        self, subject: str, schema: Any, references: Sequence[Mapping[str, Any]] = (), kind: str = "AVRO"
    ) -> int:
        """Register a version (for Avro a JSON value, for ``PROTOBUF`` a text); return the id of its schema."""
        text = json.dumps(schema) if kind == "AVRO" else schema
        body = {"schema": text, "schemaType": kind, "references": list(references)}
        return int(self._ask("POST", f"/subjects/{subject}/versions", body)["id"])

    def delete(self, subject: str) -> None:
        """Delete a subject with its versions."""
        self._ask("DELETE", f"/subjects/{subject}")

    def delete_version(self, subject: str, version: int) -> None:
        """Delete a version; its id is still answered, as values may have it."""
        self._ask("DELETE", f"/subjects/{subject}/versions/{version}")

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": _CONTENT_TYPE},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.load(response)

    def _command(self) -> Sequence[str]:
        java, jar = artifacts.registry()
        options = {
            "quarkus.http.host": LOOPBACK,
            "quarkus.http.port": self.port,
            "quarkus.http.access-log.enabled": "false",
            "quarkus.management.host": LOOPBACK,
            "quarkus.management.port": free_port(),
        }
        jvm = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", of_java(self.temporary))
        return [str(java), *jvm, *(f"-D{name}={value}" for name, value in options.items()), "-jar", str(jar)]

    def _serves(self) -> bool:
        return answers(f"{self.url}/subjects")
