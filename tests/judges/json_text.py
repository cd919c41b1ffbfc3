"""JSON texts as trees that keep how everything was written; it shares no code with what parses values for storing.

Source: RFC 8259.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["object", "array", "string", "number", "word"]

_PLAIN: Final = r'[^"\\\x00-\x1f]*'
_STRING: Final = rf'"{_PLAIN}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){_PLAIN})*"'
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_TOKEN: Final = re.compile(rf"[ \t\r\n]*({_STRING}|{_NUMBER}|true|false|null|[\[\]{{}},:])")
_END: Final = re.compile(r"[ \t\r\n]*\Z")
_CLOSES: Final = {"{": "}", "[": "]"}


class NotJsonError(Exception):
    """A text that is not one JSON document."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a text."""

    kind: Kind
    tokens: Sequence[str]
    """All of the text; those of this value are from `begin` to `end`."""
    begin: int
    end: int
    members: Sequence[tuple[str, "Node"]] = ()
    """Of an object in the order of the text, and of an array, whose names are empty."""
    depth: int = 0
    """How many objects and arrays are in each other here, this one included."""

    @property
    def text(self) -> str:
        """The value as it was written, without white space outside of strings."""
        return "".join(self.tokens[self.begin : self.end])

    @property
    def string(self) -> str:
        """What a string means; may have halves of surrogate pairs."""
        return unescaped(self.tokens[self.begin])


def unescaped(token: str) -> str:
    """Return what a string means."""
    found: str = json.loads(token)
    return found


def tokens_of(text: str) -> list[str]:
    """Return the words and signs of a text. Raises `NotJsonError`."""
    tokens: list[str] = []
    position = 0
    while (match := _TOKEN.match(text, position)) is not None:
        tokens.append(match[1])
        position = match.end()
    if _END.match(text, position) is None:
        raise NotJsonError
    return tokens


def tree_of(text: str) -> Node:
    """Return the document that a text is, however deep it is nested. Raises `NotJsonError`."""
    tokens = tokens_of(text)
    node = _outermost(tokens)
    if node.end != len(tokens):
        raise NotJsonError
    return node


class _Open:
    """An object or an array whose end is still to come."""

    def __init__(self, tokens: Sequence[str], begin: int) -> None:
        self._tokens, self._begin = tokens, begin
        self.close = _CLOSES[tokens[begin]]
        self._members: list[tuple[str, Node]] = []
        self._name = ""

    def named(self, at: int) -> int:
        """Read the name of the next member, if members have names; return where its value begins."""
        if self.close == "]":
            return at
        written = _token(self._tokens, at)
        if written[0] != '"' or _token(self._tokens, at + 1) != ":":
            raise NotJsonError
        self._name = unescaped(written)
        return at + 2

    def add(self, member: Node) -> None:
        self._members.append((self._name, member))

    def node(self, end: int) -> Node:
        kind: Kind = "array" if self.close == "]" else "object"
        depth = max((member.depth for _, member in self._members), default=0) + 1
        return Node(kind, self._tokens, self._begin, end, self._members, depth)


def _outermost(tokens: Sequence[str]) -> Node:
    """Return the first value. Not by recursion: some are nested deeper than Python goes."""
    open_: list[_Open] = []
    at = 0
    while True:
        if _token(tokens, at) in _CLOSES:
            open_.append(_Open(tokens, at))
            if _token(tokens, at + 1) != open_[-1].close:
                at = open_[-1].named(at + 1)
                continue
            node = open_.pop().node(at + 2)
        else:
            node = _plain(tokens, at)
        while open_:
            open_[-1].add(node)
            sign, at = _token(tokens, node.end), node.end + 1
            if sign == ",":
                at = open_[-1].named(at)
                break
            if sign != open_[-1].close:
                raise NotJsonError
            node = open_.pop().node(at)
        else:
            return node


def _plain(tokens: Sequence[str], at: int) -> Node:
    sign = tokens[at]
    if sign in ("}", "]", ",", ":"):
        raise NotJsonError
    return Node("string" if sign[0] == '"' else "word" if sign[0] in "tfn" else "number", tokens, at, at + 1)


def _token(tokens: Sequence[str], at: int) -> str:
    if at >= len(tokens):
        raise NotJsonError
    return tokens[at]
