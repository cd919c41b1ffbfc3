"""The fingerprint by which single-object values name their schema (Avro's specification 1.12), in plain Python.

No native code is in it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

_EMPTY: Final = 0xC15D213AA4D7A795
_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def fingerprint(text: str) -> int | None:
    """Return the CRC-64-AVRO of the parsing canonical form of a schema; None: it is none."""
    try:
        canonical = _Canonical().text(json.loads(text), "")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    found = _EMPTY
    for byte in canonical.encode(errors="replace"):
        found = (found >> 8) ^ _TABLE[(found ^ byte) & 0xFF]
    return found


def _table() -> list[int]:
    table = []
    for byte in range(256):
        found = byte
        for _ in range(8):
            found = (found >> 1) ^ (_EMPTY if found & 1 else 0)
        table.append(found)
    return table


_TABLE: Final = _table()


class _Canonical:
    """Writes schemas in their canonical form, one after the other, with the names so far."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def text(self, node: Any, namespace: str) -> str:
        """Return the form of a schema that stands in a namespace."""
        if isinstance(node, str):
            return f'"{node if node in _PRIMITIVES else self._known(node, namespace)}"'
        if isinstance(node, list):
            return f"[{','.join(self.text(one, namespace) for one in node)}]"
        kind = node["type"]
        if kind in ("array", "map"):
            inside = "items" if kind == "array" else "values"
            return f'{{"type":"{kind}","{inside}":{self.text(node[inside], namespace)}}}'
        if kind in ("record", "error", "enum", "fixed"):
            return self._named(kind, node, namespace)
        return self.text(kind, namespace)

    def _named(self, kind: str, node: Mapping[str, Any], namespace: str) -> str:
        name = _full(node["name"], node.get("namespace", namespace))
        self._names.add(name)
        if kind == "enum":
            symbols = ",".join(f'"{one}"' for one in node["symbols"])
            return f'{{"name":"{name}","type":"enum","symbols":[{symbols}]}}'
        if kind == "fixed":
            return f'{{"name":"{name}","type":"fixed","size":{node["size"]}}}'
        inside = name.rpartition(".")[0]
        fields = (f'{{"name":"{one["name"]}","type":{self.text(one["type"], inside)}}}' for one in node["fields"])
        return f'{{"name":"{name}","type":"record","fields":[{",".join(fields)}]}}'

    def _known(self, name: str, namespace: str) -> str:
        full = _full(name, namespace)
        return name if name in self._names and full not in self._names else full


def _full(name: str, namespace: str | None) -> str:
    return f"{namespace}.{name}" if namespace and "." not in name else name
