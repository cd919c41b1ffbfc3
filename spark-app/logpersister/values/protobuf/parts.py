"""Finds the part of a message that says its type: an ``Any``, or the set field of a ``oneof``. Pure.

The native module follows what is found here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from logpersister.schemas.errors import SchemaTextError
from logpersister.values.protobuf.schema import Field, Schema

ANY: Final = "google.protobuf.Any"
_WIRES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("fixed32", "sfixed32", "float"), "fixed32"),
    **dict.fromkeys(("fixed64", "sfixed64", "double"), "fixed64"),
    **dict.fromkeys(("string", "bytes", "message"), "sized"),
    "group": "group",
}
"""Wire types by kind; all others are varints."""

PARTS: Final = frozenset({"message", "group", "string", "bytes"})
"""Kinds of fields that have something in them."""

Plan = Mapping[str, Any]
WHOLE: Final[Plan] = {"steps": [], "members": None}
"""Plan for values that are an ``Any`` themselves."""


def any_in(schema: Schema, message: str, path: str) -> Plan:
    """Return how an ``Any`` is found in a message. Raises SchemaTextError."""
    steps, found = _followed(schema, message, path.split("."))
    if found != ANY:
        raise SchemaTextError(f"its field {path} is a {found}, and no {ANY}")
    return {"steps": steps, "members": None}


def oneof_in(schema: Schema, message: str, path: str, *, parts: bool) -> Plan:
    """Return how the set field of a oneof is found in a message. Raises SchemaTextError.

    `parts`: whether parsers get the field. Then numbers are no types: they have nothing that could be parsed.
    """
    *above, name = path.split(".")
    steps, inner = _followed(schema, message, above)
    if name not in schema.oneofs[inner]:
        raise SchemaTextError(f"its message {inner} has no oneof {name}")
    index = schema.oneofs[inner].index(name)
    members = [
        {**_known(schema, one), "name": "" if parts and one.kind not in PARTS else one.name, "kind": one.kind}
        for one in schema.messages[inner]
        if one.oneof == index
    ]
    return {"steps": steps, "members": members}


def _followed(schema: Schema, message: str, path: Iterable[str]) -> tuple[list[Plan], str]:
    steps: list[Plan] = []
    for name in path:
        fields = schema.messages[message]
        found = next((one for one in fields if one.name == name), None)
        if found is None:
            raise SchemaTextError(f"its message {message} has no field {name}")
        if found.kind not in ("message", "group") or found.repeated:
            raise SchemaTextError(f"its field {message}.{name} is no single message")
        steps.append({**_known(schema, found), "siblings": _siblings(schema, fields, found)})
        message = found.of
    return steps, message


def _siblings(schema: Schema, fields: Sequence[Field], of: Field) -> list[Plan]:
    return [_known(schema, one) for one in fields if of.oneof is not None and one.oneof == of.oneof and one is not of]


def _known(schema: Schema, one: Field) -> Plan:
    enum = schema.enums.get(one.of) if one.kind == "enum" else None
    values = [number for number, _ in enum.values] if enum is not None and enum.closed else None
    return {"number": one.number, "wire": _WIRES.get(one.kind, "varint"), "values": values}
