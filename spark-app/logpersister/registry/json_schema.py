"""One JSON Schema of several: a document with those that it refers to. Pure.

They are bundled as JSON Schema bundles documents: below ``$defs``, each with the name as its ``$id`` by which others
refer to it.
"""

import json
from typing import Any, Final

from logpersister.registry.answers import Schema
from logpersister.values.json.errors import JsonSchemaError

_DEFINITIONS: Final = "$defs"


def self_contained(schema: Schema) -> str:
    """Return the text of a schema with all that it refers to; without references, its own text.

    Raises JsonSchemaError.
    """
    if schema.type != "JSON":
        raise JsonSchemaError(f"it is registered as {schema.type}, not as JSON Schema")
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


def _document(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise JsonSchemaError("it is no JSON") from None
    if not isinstance(found, dict):
        raise JsonSchemaError("it is no JSON object, or what it refers to is none")
    return found
