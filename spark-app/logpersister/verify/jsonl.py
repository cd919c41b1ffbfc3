"""What a file of JSON lines holds, as items that can be compared with records."""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Final

import pyarrow as pa

from logpersister.ranges import Offset
from logpersister.verify.json_text import Node, NotJsonError, tree_of
from logpersister.verify.lines import Lines, decompressed
from logpersister.verify.refusal import RefusalError
from logpersister.verify.row_items import Item, RowItems
from logpersister.verify.rows import RowOracle
from logpersister.verify.streams import ContentError

BYTES: Final = "_base64"
"""Ends the name of what would be text if it were UTF-8."""
_KAFKA: Final = "kafka_"
_INSTANT: Final = re.compile(
    r"([0-9]{4}|[+-][0-9]{6,})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})Z", re.ASCII
)


@dataclass(frozen=True)
class JsonLinesContent:
    """Lines of an object, each a JSON object."""

    rows: RowItems
    compression: str
    may_split_values: bool = False
    sorting: None = None

    @property
    def skips_tombstones(self) -> bool:
        return self.rows.skips_tombstones

    def stored(self, pieces: Iterable[bytes]) -> Iterator[list[Item]]:
        lines = Lines(b"\n")
        for piece in decompressed(self.compression, pieces):
            yield [self._item(line) for line in lines.of(piece)]
        if lines.rest:
            raise ContentError(f"it does not end with a line feed, but with {lines.rest[-40:]!r}")

    def expectation(self) -> Callable[[pa.RecordBatch], list[Item]]:
        return self.rows.expectation()

    def values(self, items: Sequence[Item]) -> list[bytes] | None:
        return self.rows.values(items)

    def offsets(self, items: Sequence[Item]) -> list[Offset] | None:
        return self.rows.offsets(items)

    def _item(self, line: bytes) -> Item:
        try:
            tree = tree_of(line.decode())
            names = [name for name, _ in tree.members]
            wanted = self._columns_with(names)
            if tree.kind != "object" or [_without(BYTES, name, wanted) for name in names] != wanted:
                raise ContentError(f"a line has {', '.join(names) or 'no fields'}, not {', '.join(wanted)}")
            fields = dict(tree.members)
            kafka = [_KAFKA_FIELDS[name](_either(fields, _KAFKA + name)) for name in self.rows.of_kafka]
            return (*self._value(tree, fields), *kafka)
        except (NotJsonError, UnicodeDecodeError, LookupError, ValueError, RefusalError) as error:
            raise ContentError(f"a line in it cannot be read: {line[:80]!r} ({str(error) or 'no JSON'})") from None

    def _columns_with(self, names: Sequence[str]) -> list[str]:
        """Return the fields of a line, by those that it has: a tombstone among documents has no value."""
        is_tombstone = self.rows.values_are_json and not self.rows.skips_tombstones and "value" not in names
        return self.rows.columns[1:] if is_tombstone else self.rows.columns

    def _value(self, tree: Node, fields: Mapping[str, Node]) -> Item:
        if self._oracle is None and self.rows.values_are_json:
            return (fields["value"].text if "value" in fields else None,)
        if self._oracle is None:
            return (_bytes(_either(fields, "value")),)
        own = [(name, node) for name, node in tree.members if not name.startswith(_KAFKA)]
        return tuple(self._oracle.row_of(Node("object", tree.tokens, tree.begin, tree.end, own, tree.depth)).values())

    @cached_property
    def _oracle(self) -> RowOracle | None:
        """Reads what was written."""
        oracle = self.rows.oracle
        return None if oracle is None else RowOracle(oracle.schema, "refuse", is_stored=True)


_Named = tuple[str, Node]


def _without(ending: str, name: str, columns: Sequence[str]) -> str:
    return name if name in columns else name.removesuffix(ending)


def _either(fields: Mapping[str, Node], name: str) -> _Named:
    return (name, fields[name]) if name in fields else (name + BYTES, fields[name + BYTES])


def _is_null(node: Node) -> bool:
    return node.kind == "word" and node.text == "null"


def _bytes(named: _Named) -> bytes | None:
    name, node = named
    if _is_null(node):
        return None
    if node.kind != "string":
        raise ValueError(f"{name} is no text")
    if not name.endswith(BYTES):
        return node.string.encode()
    found = base64.b64decode(node.string, validate=True)
    if _is_text(found):
        raise ValueError(f"{name} is text")
    return found


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _topic(named: _Named) -> str:
    return named[1].string


def _integer(named: _Named) -> int:
    return int(named[1].text)


def _timestamp(named: _Named) -> int | None:
    """Return milliseconds since 1970, of any year: producers may write any number."""
    if _is_null(named[1]):
        return None
    match = _INSTANT.fullmatch(named[1].string)
    if match is None:
        raise ValueError(f"{named[0]} is no instant")
    year, month, day, hours, minutes, seconds, milliseconds = map(int, match.groups())
    eras = (year - 2000) // 400  # Python knows the years 1 to 9999, and calendars repeat each 400 years
    days = (date(year - eras * 400, month, day) - date(1970, 1, 1)).days + eras * 146_097
    return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds


def _headers(named: _Named) -> list[dict[str, bytes | None]]:
    found = []
    for _, header in named[1].members:
        fields = dict(header.members)
        if len(fields) != len(header.members) or len(fields) != 2:
            raise ValueError(f"a header in {named[0]} is not key and value")
        found.append({name: _bytes(_either(fields, name)) for name in ("key", "value")})
    return found


_KAFKA_FIELDS: Final[Mapping[str, Callable[[_Named], Any]]] = {
    "topic": _topic,
    "partition": _integer,
    "offset": _integer,
    "timestamp": _timestamp,
    "key": _bytes,
    "headers": _headers,
}
