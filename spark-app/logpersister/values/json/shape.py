"""Shape of a value by a JSON Schema, its references and ``allOf`` taken together. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from logpersister.schemas.errors import NoColumnsError
from logpersister.values.json.documents import Documents, Placed

TYPES: Final = frozenset({"null", "boolean", "integer", "number", "string", "object", "array"})
_MOST_PARTS: Final = 1000
_OLD: Final = ("draft-03", "draft-04", "draft-05", "draft-06", "draft-07")
"""Drafts in which nothing counts beside ``$ref``."""


@dataclass(slots=True)
class Shape:
    """What is said of a value; what restricts values of one form further is not here."""

    nodes: tuple[int, ...] = ()
    """Identities of the schemas taken together."""
    types: frozenset[str] | None = None
    """None: nothing is said."""
    properties: dict[str, Placed | None] = field(default_factory=dict)
    """None: several schemas say different things of a property."""
    required: set[str] = field(default_factory=set)
    others: Placed | None = None
    """Schema of other names, ``additionalProperties``."""
    items: Placed | None = None
    is_tuple: bool = False
    """Whether items differ by their places."""
    values: list[Any] | None = None
    """Allowed values, by ``enum`` or ``const``."""
    format: str | None = None
    encoding: str | None = None
    bounds: tuple[float | int, ...] = ()
    """Least and largest number, as far as they are named."""
    choices: list[list[Placed]] = field(default_factory=list)
    """Alternatives of each ``oneOf`` and ``anyOf``."""

    @property
    def tells(self) -> bool:
        """Whether it says of which form a value is, choices aside."""
        return (
            self.types is not None
            or self.values is not None
            or bool(self.properties)
            or self.others is not None
            or self.items is not None
            or self.is_tuple
        )


def shape_of(placed: Placed, documents: Documents) -> Shape:
    """Return the shape that a schema gives to values. Raises `NoColumnsError`."""
    shape = Shape()
    for part in _parts(placed, documents):
        shape.nodes += (id(part.node),)
        if len(shape.nodes) > _MOST_PARTS:
            raise NoColumnsError("it refers to more schemas from one than anybody can read")
        _add(shape, part)
    return shape


def _parts(placed: Placed, documents: Documents, above: tuple[int, ...] = ()) -> Iterator[Placed]:
    """Yield a schema and all of which it says that they hold, too; ``true`` says nothing."""
    node = placed.node
    if isinstance(node, bool):
        return
    if not isinstance(node, dict):
        raise NoColumnsError("it has something that is no schema where one should be")
    if id(node) in above:
        raise NoColumnsError("it has a schema that is only a reference to itself")
    inner = (*above, id(node))
    if "$ref" in node:
        yield from _parts(documents.target(node["$ref"], placed.base), documents, inner)
        root = documents.root.node
        draft = root.get("$schema", "") if isinstance(root, dict) else ""
        if any(one in str(draft) for one in _OLD):
            return
    all_of = node.get("allOf", [])
    if not isinstance(all_of, list):
        raise NoColumnsError("it has an allOf that is no list")
    for one in all_of:
        yield from _parts(placed.at(one), documents, inner)
    yield placed


def _add(shape: Shape, part: Placed) -> None:
    node: Mapping[str, Any] = part.node
    if "type" in node:
        named = _types(node["type"])
        shape.types = named if shape.types is None else _both(shape.types, named)
    for name, one in _mapping(node, "properties").items():
        before = shape.properties.get(name)
        is_new = name not in shape.properties or (before is not None and before.node == one)
        shape.properties[name] = part.at(one) if is_new else None
    required = node.get("required", ())
    if isinstance(required, list):  # in draft 3 it is a bool of the property
        shape.required.update(one for one in required if isinstance(one, str))
    if isinstance(node.get("additionalProperties"), dict):
        shape.others = part.at(node["additionalProperties"])
    if isinstance(node.get("items"), list) or "prefixItems" in node:
        shape.is_tuple = True
    elif isinstance(node.get("items"), dict):
        shape.items = part.at(node["items"])
    if isinstance(node.get("enum"), list):
        shape.values = node["enum"]
    elif "const" in node:
        shape.values = [node["const"]]
    shape.format = _text(node, "format") or shape.format
    shape.encoding = _text(node, "contentEncoding") or shape.encoding
    shape.bounds += tuple(
        node[name]
        for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        if isinstance(node.get(name), int | float) and not isinstance(node[name], bool)
    )
    for keyword in ("oneOf", "anyOf"):
        if isinstance(node.get(keyword), list):
            shape.choices.append([part.at(one) for one in node[keyword]])


def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    found = one & other
    return (
        found | {"integer"} if "integer" in one | other and "number" in one | other and "number" not in found else found
    )


def _types(named: object) -> frozenset[str]:
    found = [named] if isinstance(named, str) else named
    if not isinstance(found, list) or not all(isinstance(one, str) and one in TYPES for one in found):
        raise NoColumnsError(f"it has the type {str(named)[:64]!r}")
    return frozenset(found)


def _mapping(node: Mapping[str, Any], keyword: str) -> Mapping[str, Any]:
    found = node.get(keyword, {})
    if not isinstance(found, dict):
        raise NoColumnsError(f"it has {keyword} that are no mapping")
    return found


def _text(node: Mapping[str, Any], keyword: str) -> str | None:
    found = node.get(keyword)
    return found if isinstance(found, str) else None
