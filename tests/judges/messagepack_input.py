"""MessagePack as trees that keep how everything was written; no code of the native parser is in it.

Source: https://github.com/msgpack/msgpack/blob/master/spec.md.
"""

import struct
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from tests.judges.json_values import MOST_NESTED
from tests.judges.refusal import RefusalError

Kind = Literal["nil", "bool", "integer", "single", "double", "text", "bytes", "array", "map", "extension"]

_NUMBERS: "Final[dict[int, tuple[Kind, str]]]" = {
    0xCA: ("single", ">f"),
    0xCB: ("double", ">d"),
    0xCC: ("integer", ">B"),
    0xCD: ("integer", ">H"),
    0xCE: ("integer", ">I"),
    0xCF: ("integer", ">Q"),
    0xD0: ("integer", ">b"),
    0xD1: ("integer", ">h"),
    0xD2: ("integer", ">i"),
    0xD3: ("integer", ">q"),
}
_SIZED: "Final[dict[int, tuple[Kind, int]]]" = {
    0xC4: ("bytes", 1),
    0xC5: ("bytes", 2),
    0xC6: ("bytes", 4),
    0xC7: ("extension", 1),
    0xC8: ("extension", 2),
    0xC9: ("extension", 4),
    0xD9: ("text", 1),
    0xDA: ("text", 2),
    0xDB: ("text", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}
"""By first byte: what it is, and how many bytes its size has."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and what it is made of."""

    kind: Kind
    content: Any = None
    """A bool, an int, a float; bytes (also of a text); nodes; pairs of nodes; of an extension its type and bytes."""
    written: bytes = b""
    """All of it, if it is made of others or an extension."""


def tree_of(value: bytes) -> Node:
    """Return what a value is as a whole. Raises `RefusalError`: not_messagepack, too_deep."""
    reader = _Reader(value)
    node = reader.node(0)
    if reader.at != len(value):
        raise RefusalError("not_messagepack")
    return node


class _Reader:
    def __init__(self, value: bytes) -> None:
        self._value = value
        self.at = 0

    def _take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._value):
            raise RefusalError("not_messagepack")
        taken = self._value[self.at : end]
        self.at = end
        return taken

    def node(self, depth: int) -> Node:
        begin = self.at
        node = self._node(depth)
        if node.kind in ("array", "map", "extension"):
            return replace(node, written=self._value[begin : self.at])
        return node

    def _node(self, depth: int) -> Node:
        (first,) = self._take(1)
        if not 0x80 <= first < 0xE0:
            return Node("integer", first if first < 0x80 else first - 0x100)
        if first < 0xC0:
            kinds: dict[int, Kind] = {0x80: "map", 0x90: "array", 0xA0: "text", 0xB0: "text"}
            return self._parts(kinds[first & 0xF0], first & (0x1F if first >= 0xA0 else 0x0F), depth)
        if first in _NUMBERS:
            kind, form = _NUMBERS[first]
            (number,) = struct.unpack(form, self._take(struct.calcsize(form)))
            return Node(kind, number)
        if first in _SIZED:
            kind, width = _SIZED[first]
            return self._parts(kind, int.from_bytes(self._take(width), "big"), depth)
        if 0xD4 <= first <= 0xD8:
            return self._parts("extension", 2 ** (first - 0xD4), depth)
        if first == 0xC1:
            raise RefusalError("not_messagepack")
        return Node("nil") if first == 0xC0 else Node("bool", first == 0xC3)

    def _parts(self, kind: Kind, size: int, depth: int) -> Node:
        if kind in ("text", "bytes"):
            return Node(kind, self._take(size))
        if kind == "extension":
            (type_,) = struct.unpack("b", self._take(1))
            return Node(kind, (type_, self._take(size)))
        if depth == MOST_NESTED:
            raise RefusalError("too_deep")
        if kind == "array":
            return Node(kind, [self.node(depth + 1) for _ in range(size)])
        return Node(kind, [(self.node(depth + 1), self.node(depth + 1)) for _ in range(size)])
