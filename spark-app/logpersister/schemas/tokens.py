"""Words of schemas: `.proto` texts and Thrift's IDL.

Sources: protobuf.dev/reference/protobuf (proto2-spec, proto3-spec, edition-2023-spec), thrift.apache.org/docs/idl.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from logpersister.schemas.errors import SchemaTextError

_WORD: Final = r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/{comment})
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<number>0[xX][0-9A-Fa-f]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<open>/\*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<sign>[^\s"'])"""
_FLAGS: Final = re.ASCII | re.VERBOSE | re.DOTALL
_BRACKETS: Final[Mapping[str, str]] = {"{": "}", "[": "]", "(": ")", "<": ">"}


class Tokens:
    """A text being read, word by word."""

    def __init__(self, text: str, *, comment: str = "") -> None:
        """Find the words. Raises `SchemaTextError`, here for a text or a comment that is not closed.

        Args:
            text: what is read.
            comment: a sign with which a comment up to the end of its line may begin, too.
        """
        word = re.compile(_WORD.replace("{comment}", rf"|[{comment}][^\n]*" if comment else ""), _FLAGS)
        self._words: list[tuple[str, str, int]] = []
        position = 0
        while position < len(text):
            found = word.match(text, position)
            if found is None or found.lastgroup == "open":
                line, what = text.count("\n", 0, position) + 1, "text" if found is None else "comment"
                raise SchemaTextError(f"its line {line} has a {what} without an end")
            if found.lastgroup != "space":
                self._words.append((str(found.lastgroup), found[0], position))
            position = found.end()
        self._text = text
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next == len(self._words)

    @property
    def ahead(self) -> str:
        """The next word; empty at the end."""
        return "" if self.at_end else self._words[self._next][1]

    def take(self) -> str:
        """Go behind the next word, and return it."""
        if self.at_end:
            raise SchemaTextError("it ends too early")
        self._next += 1
        return self._words[self._next - 1][1]

    def follows(self, word: str) -> bool:
        """Go behind this word if it comes next."""
        found = self.ahead == word
        self._next += found
        return found

    def expect(self, word: str) -> None:
        if not self.follows(word):
            raise self.error(word)

    def name(self) -> str:
        return self._of_kind("name", "a name")

    def whole(self) -> int:
        """Return a whole number of at most 64 bits."""
        sign = -1 if self.follows("-") else 1
        word = self._of_kind("number", "a number")
        try:
            found = int(word, 8 if re.fullmatch("0[0-7]+", word) else 0)
        except ValueError:
            found = None
        if found is None or found.bit_length() > 64:
            self._next -= 1
            raise self.error("a whole number")
        return sign * found

    def text(self) -> str:
        """Return texts that stand beside each other as one; what is escaped stays so."""
        found = self._of_kind("text", "a text")[1:-1]
        while not self.at_end and self._words[self._next][0] == "text":
            found += self.take()[1:-1]
        return found

    def path(self) -> str:
        """Return names with dots between them, perhaps with one before them."""
        found = "." if self.follows(".") else ""
        found += self.name()
        while self.follows("."):
            found += f".{self.name()}"
        return found

    def skip_visibility(self) -> None:
        """Go behind the word by which edition 2024 says which files may name what comes next."""
        words = [word for _, word, _ in self._words[self._next : self._next + 2]]
        if len(words) > 1 and words[0] in ("export", "local") and words[1] in ("message", "enum"):
            self._next += 1

    def value(self) -> list[str]:
        """Return the words of a value: one, those of a text or a number, or all up to the bracket that closes it."""
        found = [self.take()]
        if found[0] in _BRACKETS:
            self._brackets(found)
        elif found[0] in ("-", "+"):
            found.append(self.take())
        else:
            while not self.at_end and self._words[self._next][0] == "text":
                found.append(self.take())
        return found

    def skip_block(self) -> None:
        """Go behind a block that begins behind some words."""
        while not self.follows("{"):
            self.take()
        self._brackets(["{"])

    def skip_statement(self) -> None:
        while not self.follows(";"):
            self.take()

    def _brackets(self, found: list[str]) -> None:
        """Add all words up to the bracket that closes the last one."""
        open_: list[str] = [found[-1]]
        while open_:
            word = self.take()
            found.append(word)
            if word in _BRACKETS:
                open_.append(word)
            elif word == _BRACKETS[open_[-1]]:
                open_.pop()

    def block(self, statement: Callable[[], None]) -> None:
        """Read statements up to the end of a block."""
        self.expect("{")
        while not self.follows("}"):
            if not self.follows(";"):
                statement()

    def error(self, expected: str) -> ValueError:
        """Return that something else was expected than what comes next. Says nothing of the text but a word of it."""
        if self.at_end:
            return SchemaTextError("it ends too early")
        _, word, position = self._words[self._next]
        line = self._text.count("\n", 0, position) + 1
        return SchemaTextError(f"its line {line} has {word[:32]!r} where {expected} is expected")

    def _of_kind(self, kind: str, told: str) -> str:
        if self.at_end or self._words[self._next][0] != kind:
            raise self.error(told)
        return self.take()
