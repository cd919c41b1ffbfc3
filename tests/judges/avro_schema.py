"""Schemas of Avro's specification (1.12), from their JSON; no code of the native parser is in it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.judges.avro_input import Cursor
from tests.judges.refusal import RefusalError

_LOGICAL_UNITS: Final = {"millis": "ms", "micros": "us", "nanos": "ns"}
_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


class NoSchemaError(Exception):
    """A text that is not a schema of Avro."""


@dataclass(slots=True)
class WrittenType:
    """A type of the writer; records refer to each other, also in circles."""

    kind: str
    logical: str | tuple[int, int] | None = None
    """``date``, ``uuid``, ``time-ms`` and the like, or precision and scale."""
    fields: "tuple[tuple[str, WrittenType], ...]" = ()
    of: "tuple[WrittenType, ...]" = ()
    """Branches of a union, items of an array, values of a map."""
    symbols: tuple[str, ...] = ()
    size: int = 0


def read_schema(text: str) -> WrittenType:
    """Return the type of values. Raises `NoSchemaError`."""
    try:
        return _Reader().type(json.loads(text), "")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise NoSchemaError from None


def skip(written: WrittenType, cursor: Cursor, depth: int) -> None:
    """Go behind a value. Raises `RefusalError`."""
    if depth == 0:
        raise RefusalError("too_deep")
    match written.kind:
        case "record":
            for _, type_ in written.fields:
                skip(type_, cursor, depth - 1)
        case "union":
            skip(written.of[cursor.place(len(written.of))], cursor, depth - 1)
        case "array" | "map":
            for _ in cursor.items(skipped=True):
                if written.kind == "map":
                    cursor.sized()
                skip(written.of[0], cursor, depth - 1)
        case "enum":
            cursor.place(len(written.symbols))
        case "fixed":
            cursor.take(written.size)
        case kind:
            _SKIPS[kind](cursor)


_SKIPS: Final[Mapping[str, Callable[[Cursor], Any]]] = {
    "null": lambda _: None,
    "boolean": Cursor.boolean,
    "int": Cursor.int32,
    "long": Cursor.int64,
    "float": lambda cursor: cursor.take(4),
    "double": lambda cursor: cursor.take(8),
    "bytes": Cursor.sized,
    "string": Cursor.sized,
}


class _Reader:
    """Reads a schema from its JSON; what is none raises what Python raises."""

    def __init__(self) -> None:
        self._named: dict[str, WrittenType] = {}

    def type(self, node: Any, namespace: str) -> WrittenType:  # noqa: PLR0911  (one for each form)
        if isinstance(node, str):
            return WrittenType(node) if node in _PRIMITIVES else self._known(node, namespace)
        if isinstance(node, list):
            return WrittenType("union", of=tuple(self.type(one, namespace) for one in node))
        kind = node["type"]
        if not isinstance(kind, str):
            return self.type(kind, namespace)
        if kind in ("record", "error", "enum", "fixed"):
            return self._declared(kind, node, namespace)
        if kind in ("array", "map"):
            return WrittenType(kind, of=(self.type(node["items" if kind == "array" else "values"], namespace),))
        if kind not in _PRIMITIVES:
            return self._known(kind, namespace)
        return WrittenType(kind, _logical(kind, 0, node))

    def _known(self, name: str, namespace: str) -> WrittenType:
        full = f"{namespace}.{name}" if namespace and "." not in name else name.lstrip(".")
        return self._named.get(full) or self._named[name]

    def _declared(self, kind: str, node: Mapping[str, Any], namespace: str) -> WrittenType:
        name, around = node["name"], node.get("namespace", namespace)
        full = f"{around}.{name}" if around and "." not in name else name.lstrip(".")
        found = self._named[full] = WrittenType("record" if kind == "error" else kind)
        inside = full.rpartition(".")[0]
        if kind == "enum":
            found.symbols = tuple(node["symbols"])
        elif kind == "fixed":
            found.size = node["size"]
            found.logical = _logical(kind, found.size, node)
        else:
            found.fields = tuple((one["name"], self.type(one["type"], inside)) for one in node["fields"])
        return found


def _logical(kind: str, size: int, node: Mapping[str, Any]) -> str | tuple[int, int] | None:
    """Return what a value means; None where its type does not allow it, as the specification wants it."""
    name = str(node.get("logicalType", ""))
    if name == "uuid" and (kind == "string" or (kind, size) == ("fixed", 16)):
        return name
    if name == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = node.get("precision", 0), node.get("scale", 0)
        return (precision, scale) if 0 <= scale <= precision and precision > 0 else None
    if name == "date" and kind == "int":
        return name
    what, _, unit = name.removeprefix("local-").rpartition("-")
    if what == "time" and (kind, unit) in (("int", "millis"), ("long", "micros")):
        return f"time-{_LOGICAL_UNITS[unit]}"
    if what == "timestamp" and kind == "long" and unit in _LOGICAL_UNITS:
        return f"timestamp-{_LOGICAL_UNITS[unit]}"
    return None
