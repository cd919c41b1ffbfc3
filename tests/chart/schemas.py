"""JSON schemas for kubeconform, made from the OpenAPI document of the Kubernetes that the tests build.

kubeconform would fetch schemas from the network; these need none, and are of exactly that version.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.stack import artifacts

LOCATION = "{{.ResourceKind}}{{.KindSuffix}}.json"
"""How kubeconform finds a schema in the folder."""
OWN = Path(__file__).parent / "schemas"
"""Schemas of kinds that Kubernetes does not have: the fields that the chart uses, and no others."""

_MODULE = artifacts.ROOT / "tests" / "stack" / "kubernetes" / "go" / "kubernetes"
_DEFINITIONS = "_definitions.json"
_KINDS = "x-kubernetes-group-version-kind"


def write_schemas(folder: Path) -> None:
    """Write a schema for each kind into ``folder``; unknown fields are errors."""
    found = json.loads(_openapi().read_text())["definitions"]
    strict = {name: _strict(schema) for name, schema in found.items()}
    for name in strict:
        if name.endswith(".Quantity"):  # called a string, and numbers are taken as well
            strict[name] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
    (folder / _DEFINITIONS).write_text(json.dumps({"definitions": strict}))
    for name, schema in found.items():
        for kind in schema.get(_KINDS, ()):
            (folder / _file(kind)).write_text(json.dumps(_of_kind(strict[name], kind)))


def _openapi() -> Path:
    """Find the document in the module cache, where the build of kube-apiserver has put it."""
    command = ["go", "mod", "download", "-json", "k8s.io/kubernetes"]
    done = subprocess.run(command, cwd=_MODULE, capture_output=True, text=True, check=True, timeout=120)
    return Path(json.loads(done.stdout)["Dir"]) / "api" / "openapi-spec" / "swagger.json"


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("$ref"), str):
        return {"$ref": _DEFINITIONS + schema["$ref"]}
    if schema.get("format") == "int-or-string":
        return {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    strict = {name: _strict(value) for name, value in schema.items() if name not in ("description", "properties")}
    if isinstance(schema.get("properties"), dict):
        strict["properties"] = {name: _strict(value) for name, value in schema["properties"].items()}
        if schema.get("type") == "object":
            strict.setdefault("additionalProperties", False)
    return strict


def _of_kind(schema: dict[str, Any], kind: dict[str, str]) -> dict[str, Any]:
    version = "/".join(filter(None, [kind["group"], kind["version"]]))
    only = {"apiVersion": {"type": "string", "enum": [version]}, "kind": {"type": "string", "enum": [kind["kind"]]}}
    return {**schema, "properties": {**schema.get("properties", {}), **only}}


def _file(kind: dict[str, str]) -> str:
    group = kind["group"].partition(".")[0]
    return "-".join(filter(None, [kind["kind"].lower(), group, kind["version"]])) + ".json"
