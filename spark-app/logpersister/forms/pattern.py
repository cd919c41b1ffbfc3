r"""Regular expressions that mean the same to Python and to the native parser, and take linear time there. Pure.

Grammar, of which everything else is refused at its place::

    pattern = branch {"|" branch};  branch = {item};  item = atom [("*" | "+" | "?" | "{" m ["," [n]] "}") ["?"]]
    atom    = character | "." | "^" | "$" | class | escape | "(" ["?:" | "?P<" name ">"] pattern ")"
    escape  = "\" (one of dDwWsStnrfvb | "x" two digits | a sign of ASCII other than "<" and ">")
"""

import re
import string
from dataclasses import dataclass, field
from typing import Final, NoReturn

from logpersister.forms.problems import refuse

NO_PATTERN: Final = "is not a pattern: it"
PATTERN_REMEDY: Final = "correct it, or take a simpler one (docs/schemas.md#regular-expressions)"
LONGEST_PATTERN: Final = 4096
LARGEST: Final = 5_000
"""Characters and classes, with those that are repeated a number of times counted so many times."""
MOST_NESTED: Final = 32

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}>", re.ASCII)
_COUNTS: Final = re.compile(r"\{([0-9]{1,4})(,([0-9]{1,4})?)?\}", re.ASCII)
_HEX: Final = re.compile(r"[0-9A-Fa-f]{2}")
_QUANTIFIERS: Final = "*+?{"
_SIGNS: Final = frozenset(string.punctuation + " ") - {"<", ">"}


def groups_of(pattern: str) -> tuple[str, ...]:
    """Return the names of the groups in their order. Raises `RefusedError`, which names the position (from 1)."""
    return _scanned(pattern)[0]


def size_of(pattern: str) -> int:
    """Return of how many characters and classes a pattern is, counted as for `LARGEST`; raises as `groups_of` does."""
    return _scanned(pattern)[1]


def _scanned(pattern: str) -> tuple[tuple[str, ...], int]:
    scanner = _Scanner(pattern)
    size = scanner.pattern(depth=0).size
    if scanner.at < len(pattern):
        scanner.refuse("has a ) without a (")
    if size > LARGEST:
        raise refuse(f"{NO_PATTERN} has {size} characters and classes, more than {LARGEST}", PATTERN_REMEDY)
    try:
        re.compile(pattern, re.ASCII)
    except re.error as error:
        raise refuse(f"{NO_PATTERN} has at character {(error.pos or 0) + 1}: {error.msg}", PATTERN_REMEDY) from None
    return tuple(scanner.names), size


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part of a pattern is like."""

    size: int
    """Number of characters and classes."""
    may_be_empty: bool


_CHARACTER: Final = _Part(1, may_be_empty=False)
_PLACE: Final = _Part(1, may_be_empty=True)


@dataclass
class _Scanner:
    """A position in a pattern. Methods that return a part go behind it."""

    text: str
    at: int = 0
    names: list[str] = field(default_factory=list)

    def refuse(self, what: str, at: int | None = None) -> NoReturn:
        place = (self.at if at is None else at) + 1
        raise refuse(f"{NO_PATTERN} {what} at character {place}", PATTERN_REMEDY)

    def _peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def pattern(self, depth: int) -> _Part:
        if depth > MOST_NESTED:
            self.refuse(f"nests more than {MOST_NESTED} groups")
        branches = [self._branch(depth)]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._branch(depth))
        return _Part(sum(one.size for one in branches), any(one.may_be_empty for one in branches))

    def _branch(self, depth: int) -> _Part:
        size, may_be_empty = 0, True
        while self._peek() not in ("", ")", "|"):
            item = self._item(depth)
            size += item.size
            may_be_empty = may_be_empty and item.may_be_empty
        return _Part(size, may_be_empty)

    def _item(self, depth: int) -> _Part:
        begin, names = self.at, len(self.names)
        atom = self._atom(depth)
        if self._peek() not in tuple(_QUANTIFIERS):
            return atom
        if atom is _PLACE:
            self.refuse("repeats a place that has no characters, such as ^,")
        least, most = self._quantifier()
        if most != 1 and len(self.names) > names:
            self.refuse(f"repeats the group {self.names[-1]}, which can have only one value,", begin)
        if most != 1 and atom.may_be_empty:  # where engines differ in which way they prefer
            self.refuse("repeats a group that may match the empty text", begin)
        return _Part(atom.size * max(least, most or 1, 1), atom.may_be_empty or least == 0)

    def _quantifier(self) -> tuple[int, int | None]:
        """Return how often something is there at least and at most; None: any number of times."""
        sign = self._peek()
        if sign == "{":
            counts = _COUNTS.match(self.text, self.at)
            if counts is None:
                self.refuse(r"has a { that begins no count such as {2,5} (write \{ for the character)")
            self.at = counts.end()
            least = int(counts[1])
            most = least if counts[2] is None else int(counts[3]) if counts[3] else None
        else:
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        if self._peek() == "?":
            self.at += 1
        if self._peek() in tuple(_QUANTIFIERS):
            self.refuse("repeats a repetition")
        return least, most

    def _atom(self, depth: int) -> _Part:
        sign = self._peek()
        if sign in _QUANTIFIERS:
            self.refuse(rf"has nothing before {sign} (write \{sign} for the character)")
        if sign == "(":
            return self._group(depth)
        is_place = sign in ("^", "$") or self._peek(2) == "\\b"
        if sign == "[":
            self._class()
        elif sign == "\\":
            self._escape(in_class=False)
        else:
            self.at += 1
        return _PLACE if is_place else _CHARACTER

    def _group(self, depth: int) -> _Part:
        begin = self.at
        if self._peek(3) == "(?:":
            self.at += 3
        elif self._peek(4) == "(?P<":
            self.at += 4
            self._name()
        elif self._peek(2) == "(?":
            self.refuse("has a (? that begins neither (?: nor (?P<name>")
        else:
            self.at += 1
        part = self.pattern(depth + 1)
        if self._peek() != ")":
            self.refuse("has a ( without a )", begin)
        self.at += 1
        return part

    def _name(self) -> None:
        found = _NAME.match(self.text, self.at)
        if found is None:
            self.refuse("has a group without a name of letters, digits and _")
        name = found[0][:-1]
        if name in self.names:
            self.refuse(f"has the group {name} a second time")
        self.names.append(name)
        self.at = found.end()

    def _class(self) -> None:
        begin = self.at
        self.at += 2 if self._peek(2) == "[^" else 1
        first = self.at
        while self._peek() != "]" or self.at == first:
            if self._peek() in ("", "[", "]"):
                self.refuse(r"has a [ without a ], or one of both in it (write \[ and \] there)", begin)
            if self._peek(2) in ("--", "&&", "~~", "||"):
                self.refuse("has one of -- && ~~ || in a class, where engines differ,")
            if self._peek() == "-" and self.at > first and self._peek(2) != "-]":
                self.refuse(r"has a - that is not part of a range (write \- for the character)")
            self._class_item()
            if self._peek() == "-" and self._peek(2) not in ("-]", "--"):
                self.at += 1
                self._class_item()
        self.at += 1

    def _class_item(self) -> None:
        if self._peek() == "\\":
            self._escape(in_class=True)
        elif self._peek() in ("", "[", "]"):
            self.refuse(r"has a [ without a ], or one of both in it (write \[ and \] there)")
        else:
            self.at += 1

    def _escape(self, *, in_class: bool) -> None:
        sign = self.text[self.at + 1 : self.at + 2]
        if sign == "x" and _HEX.match(self.text, self.at + 2):
            self.at += 4
        elif sign in _SIGNS or (sign and sign in "dDwWsStnrfv") or (sign == "b" and not in_class):
            self.at += 2
        else:
            self.refuse(f"has \\{sign}, which is not supported,")
