"""What no reader in Python shows of a Parquet file: its page index, by a reader of Thrift's compact protocol.

Source: ``parquet.thrift`` of Apache Parquet (`FileMetaData`, `ColumnIndex`, `OffsetIndex`), by the numbers of fields.
"""

from dataclasses import dataclass
from typing import Any, Final

_ASCENDING: Final = 1
_DESCENDING: Final = 2


@dataclass(frozen=True, slots=True)
class Page:
    """A data page of a column of a row group."""

    begin: int
    length: int
    first_row: int
    nulls: int | None
    """None, as the others: the file does not tell it."""
    bounds: tuple[bytes, bytes] | None
    """None also for a page of nulls."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column of a row group: its data pages, and what is said of all of them."""

    pages: list[Page]
    has_bounds: bool
    ascending: bool
    descending: bool


def chunks(content: bytes) -> list[list[Chunk]]:
    """Return the columns of each row group of a file with a page index."""
    length = int.from_bytes(content[-8:-4], "little")
    footer = _Compact(content, len(content) - 8 - length).structure()
    return [[_chunk(content, one) for one in group[1]] for group in footer.get(4, [])]


def _chunk(content: bytes, column: dict[int, Any]) -> Chunk:
    places = _Compact(content, column[4]).structure()[1]
    index = _Compact(content, column[6]).structure() if 6 in column else {}
    pages = []
    for number, place in enumerate(places):
        is_told = bool(index) and not index[1][number]
        bounds = (index[2][number], index[3][number]) if is_told else None
        pages.append(Page(place[1], place[2], place[3], index[5][number] if index else None, bounds))
    order = index.get(4)
    return Chunk(pages, bool(index), order == _ASCENDING, order == _DESCENDING)


class _Compact:
    """Reads values of Thrift's compact protocol from a place on."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content, self._at = content, at

    def structure(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:  # as an item of a list
                return self._byte() == 1
            case 3:
                return self._byte()
            case 4 | 5 | 6:
                return self._signed()
            case 8:
                length = self._unsigned()
                self._at += length
                return self._content[self._at - length : self._at]
            case 9:
                head = self._byte()
                count = head >> 4 if head >> 4 < 15 else self._unsigned()
                return [self._value(head & 15) for _ in range(count)]
            case 12:
                return self.structure()
            case _:
                raise ValueError(f"{kind} is no type of a value in the metadata of Parquet")

    def _byte(self) -> int:
        self._at += 1
        return self._content[self._at - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def _signed(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)
