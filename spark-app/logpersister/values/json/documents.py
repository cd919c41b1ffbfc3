"""Schemas by the names by which they refer to each other: ``$id``, ``$anchor``, ``$ref``. Pure.

Nothing is fetched: what a schema refers to is in its text, perhaps as a schema with an ``$id`` of its own, which is how
JSON Schema bundles several documents (json-schema.org/blog/posts/bundling-json-schema-compound-documents).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urldefrag, urljoin

from logpersister.schemas.errors import NoColumnsError

_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_SINGLE: Final = (
    "items", "additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else",
    "unevaluatedItems", "unevaluatedProperties",
)  # fmt: skip
"""Keywords below which there are schemas."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A schema, and by which address what it refers to is found."""

    node: Any
    base: str

    def at(self, node: Any) -> "Placed":
        """Return a node below this one, which has the same base."""
        return Placed(node, self.base)


class Documents:
    """A schema with all that have names in it."""

    def __init__(self, root: Any) -> None:
        """Note the names. Raises `NoColumnsError`, also where schemas are nested too deep."""
        self.root = Placed(root, _base_of(root, ""))
        self._named: dict[str, Any] = {"": root}
        try:
            self._note(root, "")
        except RecursionError:
            raise NoColumnsError("it is nested too deep") from None

    def target(self, ref: object, base: str) -> Placed:
        """Return what a reference means, which stands below an address. Raises `NoColumnsError`."""
        if not isinstance(ref, str):
            raise NoColumnsError("it has a $ref that is no text")
        address, fragment = _joined(base, ref)
        written, _ = _joined("", ref)
        place = next((one for one in (address, written) if one in self._named), None)
        if place is None:
            raise _absent(ref)
        if fragment and not fragment.startswith("/"):
            anchored = f"{place}#{fragment}"
            if anchored not in self._named:
                raise _absent(ref)
            return Placed(self._named[anchored], place)
        return self._below(Placed(self._named[place], place), unquote(fragment), ref)

    def _below(self, found: Placed, pointer: str, ref: str) -> Placed:
        """Return what a JSON pointer leads to (RFC 6901)."""
        for step in pointer.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            inside = found.node
            if isinstance(inside, list) and name.isdecimal() and int(name) < len(inside):
                node = inside[int(name)]
            elif isinstance(inside, dict) and name in inside:
                node = inside[name]
            else:
                raise _absent(ref)
            found = Placed(node, _base_of(node, found.base))
        return found

    def _note(self, node: Any, base: str) -> None:
        if not isinstance(node, dict):
            return
        base = _base_of(node, base)
        if base != "" and _own_name(node) is not None:
            self._named.setdefault(base, node)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if isinstance(node.get(keyword), str):
                self._named.setdefault(f"{base}#{node[keyword]}", node)
        for one in _inside(node):
            self._note(one, base)


def _inside(node: Mapping[str, Any]) -> Iterator[Any]:
    for keyword in _LISTS:
        if isinstance(node.get(keyword), list):
            yield from node[keyword]
    for keyword in _MAPS:
        if isinstance(node.get(keyword), dict):
            yield from node[keyword].values()
    for keyword in _SINGLE:
        yield node.get(keyword)


def _own_name(node: Any) -> str | None:
    """Return the name that a schema gives itself: ``$id``, in draft 4 ``id``; an anchor alone is none."""
    if not isinstance(node, dict):
        return None
    name = node.get("$id", node.get("id"))
    return name if isinstance(name, str) and not name.startswith("#") else None


def _base_of(node: Any, around: str) -> str:
    name = _own_name(node)
    return around if name is None else _joined(around, name)[0]


def _joined(base: str, name: str) -> tuple[str, str]:
    """Return the address that a name means below another, and the part of it that is named."""
    try:
        address, fragment = urldefrag(urljoin(base, name))
    except ValueError:
        raise NoColumnsError(f"it has the name {name[:64]!r}, which is no URI") from None
    return address, fragment


def _absent(ref: str) -> NoColumnsError:
    return NoColumnsError(f"it refers to {ref[:200]!r}, which is not in it")
