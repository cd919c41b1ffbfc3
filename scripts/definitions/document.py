"""A CustomResourceDefinition as a document: what those of all kinds have in common."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from definitions.schema import json_schema
from definitions.structural import Schema, structural
from logpersister_operator.cluster.kinds import Kind


@dataclass(frozen=True, slots=True)
class Definition:
    """The definition of one kind of resource."""

    kind: Kind
    short_name: str
    """What people type in place of the plural."""
    schema: Schema
    columns: Sequence[Mapping[str, Any]]
    """What ``kubectl get`` prints."""

    @property
    def name(self) -> str:
        return f"{self.kind.plural}.{self.kind.api_version.partition('/')[0]}"

    def document(self) -> dict[str, Any]:
        """Return the whole definition."""
        kind = self.kind
        group, _, version = kind.api_version.partition("/")
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": group,
                "names": {
                    "kind": kind.name,
                    "listKind": f"{kind.name}List",
                    "plural": kind.plural,
                    "singular": kind.name.lower(),
                    "shortNames": [self.short_name],
                    "categories": ["log-persister"],
                },
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": self.schema},
                        "subresources": {"status": {}},
                        "additionalPrinterColumns": [dict(one) for one in self.columns],
                    }
                ],
            },
        }


def schema_of(model: type[BaseModel], status: type[BaseModel]) -> Schema:
    """Return the schema of a resource: the spec of its manifest, and its status."""
    schema = structural(json_schema(model, with_bounds=True))
    properties = schema["properties"]
    for name in ("apiVersion", "kind"):  # the API server compares them itself
        properties[name] = {"description": properties[name]["description"], "type": "string"}
    metadata = properties["metadata"]["properties"]
    properties["metadata"] = {"type": "object", "properties": {"name": without(metadata["name"], {"description"})}}
    properties["status"] = structural(json_schema(status, with_bounds=True))
    schema["required"] = ["spec"]
    return schema


def without(schema: Schema, names: Collection[str]) -> Schema:
    return {name: value for name, value in schema.items() if name not in names}


def column(name: str, path: str, kind: str = "string", *, wide: bool = False, text: str) -> dict[str, Any]:
    """Return a column of ``kubectl get``; a wide one is printed only with ``-o wide``."""
    shown = {"name": name, "type": kind, "jsonPath": path, "description": text}
    return shown | ({"priority": 1} if wide else {})


def condition(kind: str, field: str = "status") -> str:
    """Return the path of a field of a condition."""
    return f'.status.conditions[?(@.type=="{kind}")].{field}'
