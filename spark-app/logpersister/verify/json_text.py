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
    """Return the document that a text is. Raises `NotJsonError`, and `RecursionError` for one nested very deep."""
    tokens = tokens_of(text)
    node = _value(tokens, 0)
    if node.end != len(tokens):
        raise NotJsonError
    return node


def _value(tokens: Sequence[str], at: int) -> Node:
    sign = _token(tokens, at)
    if sign == "{":
        return _members(tokens, at, "object", "}")
    if sign == "[":
        return _members(tokens, at, "array", "]")
    if sign[0] == '"':
        return Node("string", tokens, at, at + 1)
    if sign[0] in "tfn":
        return Node("word", tokens, at, at + 1)
    if sign in ("}", "]", ",", ":"):
        raise NotJsonError
    return Node("number", tokens, at, at + 1)


def _members(tokens: Sequence[str], begin: int, kind: Kind, close: str) -> Node:
    at = begin + 1
    members: list[tuple[str, Node]] = []
    depth = 0
    if _token(tokens, at) == close:
        return Node(kind, tokens, begin, at + 1, members, 1)
    while True:
        name = ""
        if kind == "object":
            written = _token(tokens, at)
            if written[0] != '"' or _token(tokens, at + 1) != ":":
                raise NotJsonError
            name = unescaped(written)
            at += 2
        member = _value(tokens, at)
        members.append((name, member))
        depth = max(depth, member.depth)
        at = member.end + 1
        sign = _token(tokens, member.end)
        if sign == close:
            return Node(kind, tokens, begin, at, members, depth + 1)
        if sign != ",":
            raise NotJsonError


def _token(tokens: Sequence[str], at: int) -> str:
    if at >= len(tokens):
        raise NotJsonError
    return tokens[at]
