"""One Avro schema of several: what a schema refers to by name is written where it is first named. Pure."""

import json
from typing import Any, Final

from logpersister.registry.answers import Schema
from logpersister.values.avro.columns import AvroTextError

_NAMED: Final = frozenset({"record", "error", "enum", "fixed"})


def self_contained(schema: Schema) -> str:
    """Return the text of a schema with all that it refers to in it; without references, its own text.

    Names are those of Avro's specification: one without a dot is of the namespace around it. Raises AvroTextError.
    """
    if schema.type != "AVRO":
        raise AvroTextError(f"it is registered as {schema.type}, not as Avro")
    document = _parsed(schema.text)
    if not schema.references:
        return schema.text
    known: dict[str, Any] = {}
    try:
        for reference in schema.references:
            _collect(_parsed(reference.text), "", known)
        inlined = _Inliner(known).inlined(document, "")
    except (TypeError, RecursionError):  # not every registry looks at what it is given
        raise AvroTextError("it is no schema of Avro, or what it refers to is none") from None
    return json.dumps(inlined, separators=(",", ":"), ensure_ascii=False)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise AvroTextError("it is no JSON") from None


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
