"""Thrift's binary and compact protocol, read into a tree in plain Python; no code of the native parser is in it.

Source: github.com/apache/thrift/tree/master/doc/specs.
"""

import struct
from dataclasses import dataclass
from typing import Any, Final

from tests.judges.json_values import MOST_NESTED
from tests.judges.refusal import RefusalError

_BINARY: Final = {
    2: "bool", 3: "i8", 4: "double", 6: "i16", 8: "i32", 10: "i64", 11: "sized", 12: "struct", 13: "map", 14: "set",
    15: "list", 16: "uuid",
}  # fmt: skip
_COMPACT: Final = {
    1: "bool", 2: "bool", 3: "i8", 4: "i16", 5: "i32", 6: "i64", 7: "double", 8: "sized", 9: "list", 10: "set",
    11: "map", 12: "struct", 13: "uuid",
}  # fmt: skip
_BITS: Final = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


@dataclass(frozen=True, slots=True)
class Node:
    """A value."""

    kind: str
    """``bool``, ``i8`` to ``i64``, ``double``, ``sized``, ``struct``, ``list``, ``set``, ``map`` or ``uuid``."""
    content: Any
    """Of a struct numbers and values, of a map keys and values, of a list items, else what it says; bytes of others."""


def tree_of(value: bytes, protocol: str) -> Node:
    """Return the struct that a value is. Raises `RefusalError`."""
    cursor = _Compact(value) if protocol == "compact" else _Binary(value)
    tree = cursor.value("struct", 0)
    if cursor.left:
        raise RefusalError("not_thrift")
    return tree


class _Binary:
    """The rest of a value in the binary protocol."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def value(self, kind: str, depth: int) -> Node:
        """Read a value of a kind that is inside of so many others."""
        if kind not in ("struct", "list", "set", "map"):
            return Node(kind, self._scalar(kind))
        if depth == MOST_NESTED:
            raise RefusalError("too_deep")
        read = {"struct": self._struct, "map": self._map}.get(kind, self._list)
        return Node(kind, read(depth + 1))

    def _struct(self, depth: int) -> list[tuple[int, Node]]:
        found: list[tuple[int, Node]] = []
        while head := self._byte():
            number, kind = self._field(head, found[-1][0] if found else 0)
            found.append((number, Node(*kind) if isinstance(kind, tuple) else self.value(kind, depth)))
        return found

    def _list(self, depth: int) -> list[Node]:
        kind, size = self._list_head()
        return [self.value(kind, depth) for _ in range(size)]

    def _map(self, depth: int) -> list[tuple[Node, Node]]:
        key, value, size = self._map_head()
        return [(self.value(key, depth), self.value(value, depth)) for _ in range(size)]

    def _scalar(self, kind: str) -> Any:
        match kind:
            case "bool":
                return self._bool()
            case "double":
                return self._double()
            case "sized":
                return self._take(self._size())
            case "uuid":
                return self._take(16)
            case _:
                return self._integer(_BITS[kind])

    def _take(self, size: int) -> bytes:
        if size > self.left:
            raise RefusalError("not_thrift")
        self._at += size
        return self._data[self._at - size : self._at]

    def _byte(self) -> int:
        return self._take(1)[0]

    def _checked(self, size: int, least: int) -> int:
        if size * least > self.left:
            raise RefusalError("not_thrift")
        return size

    # what the protocols do each in its own way

    def _field(self, head: int, last: int) -> tuple[int, Any]:
        """Return the number of a field and its kind, or all that it is. `last` is the field before."""
        number = self._integer(16)
        return number, _kind(_BINARY, head)

    def _list_head(self) -> tuple[str, int]:
        head, size = self._byte(), self._size()
        return (_kind(_BINARY, head), self._checked(size, 1)) if size else ("", 0)

    def _map_head(self) -> tuple[str, str, int]:
        heads, size = self._take(2), self._size()
        if not size:
            return "", "", 0
        key, value = (_kind(_BINARY, head) for head in heads)
        return key, value, self._checked(size, 2)

    def _bool(self) -> bool:
        return self._byte() != 0

    def _integer(self, bits: int) -> int:
        return int.from_bytes(self._take(bits // 8), "big", signed=True)

    def _double(self) -> float:
        (found,) = struct.unpack(">d", self._take(8))
        return float(found)

    def _size(self) -> int:
        size = self._integer(32)
        if size < 0:
            raise RefusalError("not_thrift")
        return size


class _Compact(_Binary):
    """The rest of a value in the compact protocol."""

    def _field(self, head: int, last: int) -> tuple[int, Any]:
        number = last + (head >> 4) if head >> 4 else self._integer(16)
        if number >= 2**15:
            raise RefusalError("not_thrift")
        kind = _kind(_COMPACT, head & 15)
        return number, ("bool", head & 15 == 1) if kind == "bool" else kind

    def _list_head(self) -> tuple[str, int]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._size()
        return (_kind(_COMPACT, head & 15), self._checked(size, 1)) if size else ("", 0)

    def _map_head(self) -> tuple[str, str, int]:
        size = self._size()
        if not size:
            return "", "", 0
        heads = self._byte()
        key, value = _kind(_COMPACT, heads >> 4), _kind(_COMPACT, heads & 15)
        return key, value, self._checked(size, 2)

    def _bool(self) -> bool:
        found = self._byte()
        if found > 2:
            raise RefusalError("not_thrift")
        return found == 1

    def _integer(self, bits: int) -> int:
        if bits == 8:
            return super()._integer(8)
        number = self._varint(max(32, bits))
        signed = (number >> 1) ^ -(number & 1)
        if not -(2 ** (bits - 1)) <= signed < 2 ** (bits - 1):
            raise RefusalError("not_thrift")
        return signed

    def _double(self) -> float:
        (found,) = struct.unpack("<d", self._take(8))
        return float(found)

    def _size(self) -> int:
        size = self._varint(32)
        if size >= 2**31:
            raise RefusalError("not_thrift")
        return size

    def _varint(self, bits: int) -> int:
        """Read a number of at most so many bits, in as few bytes as those need or less."""
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 0x7F) << shift
            if number >= 2**bits:
                raise RefusalError("not_thrift")
            if byte < 0x80:
                return number
            shift += 7
            if shift >= bits:
                raise RefusalError("not_thrift")


def _kind(kinds: dict[int, str], head: int) -> str:
    if head not in kinds:
        raise RefusalError("not_thrift")
    return kinds[head]
