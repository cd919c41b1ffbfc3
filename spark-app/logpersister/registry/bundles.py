"""One schema of several: a schema with all that it refers to, as one text. Pure.

- Avro: what a schema refers to by name is written where it is first named.
- JSON Schema: documents are bundled below ``$defs``, each with the name as its ``$id`` by which others refer to it.
- protobuf: a descriptor set in base64 has the files that others import.
"""

import base64
import json
from typing import Any, Final

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from logpersister.registry.answers import Schema
from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.json_text import read_json
from logpersister.values.protobuf.text import read_text

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})
_DEFINITIONS: Final = "$defs"


def avro(schema: Schema) -> str:
    """Return an Avro schema. Raises SchemaTextError.

    Names are those of Avro's specification: one without a dot is of the namespace around it.
    """
    document = read_json(schema.text)
    if not schema.references:
        return schema.text
    known: dict[str, Any] = {}
    try:
        for reference in schema.references:
            _collect(read_json(reference.text), "", known)
        inlined = _Inliner(known).inlined(document, "")
    except (TypeError, RecursionError):  # not every registry looks at what it is given
        raise SchemaTextError("it is no schema of Avro, or what it refers to is none") from None
    return json.dumps(inlined, separators=(",", ":"), ensure_ascii=False)


def json_schema(schema: Schema) -> str:
    """Return a JSON Schema. Raises SchemaTextError."""
    root = _document(schema.text)
    if not schema.references:
        return schema.text
    inside = root.get(_DEFINITIONS)
    definitions: dict[str, Any] = dict(inside) if isinstance(inside, dict) else {}
    for number, one in enumerate(schema.references):
        document = _document(one.text)
        own = document.get("$id", document.get("id"))
        if isinstance(own, str) and own != one.name:
            definitions[f"reference {number}"] = document
            definitions[f"name of reference {number}"] = {"$id": one.name, "$ref": own}
        else:
            definitions[f"reference {number}"] = {**document, "$id": one.name}
    return json.dumps({**root, _DEFINITIONS: definitions}, separators=(",", ":"), ensure_ascii=False)


def protobuf(schema: Schema) -> str:
    """Return a protobuf schema: its own text where it imports nothing. Raises SchemaTextError.

    Of a file that others import in several versions, the first one counts.
    """
    if not schema.references:
        return schema.text
    imported: dict[str, str] = {}
    for one in schema.references:
        imported.setdefault(one.name or one.text, one.text)
    files = [read_text(text, name) for name, text in imported.items()]
    return base64.b64encode(FileDescriptorSet(file=[*files, read_text(schema.text)]).SerializeToString()).decode()


def _document(text: str) -> dict[str, Any]:
    found = read_json(text)
    if not isinstance(found, dict):
        raise SchemaTextError("it is no JSON object, or what it refers to is none")
    return found


def _collect(node: Any, namespace: str, known: dict[str, Any]) -> None:
    """Note the types that a schema names; only what stands at its top can be referred to by others."""
    if isinstance(node, list):
        for each in node:
            _collect(each, namespace, known)
    elif isinstance(node, dict) and node.get("type") in _NAMED:
        known[_full_name(node, namespace)] = node


def _full_name(node: dict[str, Any], namespace: str) -> str:
    name = str(node.get("name", ""))
    if "." in name:
        return name
    around = node.get("namespace", namespace)
    return f"{around}.{name}" if around else name


class _Inliner:
    """Writes each type once, where a reader meets it first."""

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known
        self._written: set[str] = set()

    def inlined(self, node: Any, namespace: str) -> Any:
        """Return a schema as it stands in a namespace."""
        if isinstance(node, list):
            return [self.inlined(each, namespace) for each in node]
        if isinstance(node, str):
            full = node if "." in node or not namespace else f"{namespace}.{node}"
            name = next((each for each in (full, node) if each in self._known), None)
            if name is None or name in self._written:
                return node
            return self._definition(self._known[name], namespace, name)
        if not isinstance(node, dict):
            return node
        if node.get("type") in _NAMED:
            return self._definition(node, namespace, _full_name(node, namespace))
        nested = {key: self.inlined(node[key], namespace) for key in ("type", "items", "values") if key in node}
        return {**node, **nested}

    def _definition(self, node: dict[str, Any], namespace: str, full: str) -> Any:
        self._written.add(full)
        inside = full.rpartition(".")[0]
        named = {**node, "name": full.rpartition(".")[2], **({"namespace": inside} if inside or namespace else {})}
        if "fields" in node:
            named["fields"] = [{**one, "type": self.inlined(one.get("type"), inside)} for one in node["fields"]]
        return named
