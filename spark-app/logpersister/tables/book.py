"""Remembers the receipts of a topic, so that each is read once: for which tables they are, and which have them.

It is memory of what was read and loaded, and concludes nothing else: a receipt is done when each table that it names
was *loaded* with offsets behind it. A process that begins knows nothing, and asks again.

Memory: some hundred bytes for each receipt, whatever the number of tables. Sets of tables are bits of a number.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from logpersister.ranges import Range
from logpersister.storage.errors import StorageError
from logpersister.storage.receipts import Receipt, ReceiptName
from logpersister.tables.appends import Portion
from logpersister.tables.offsets import Held, held_to


class TableKey(NamedTuple):
    """A table of a topic: that of a type, or `storage.receipts.NO_TYPE`."""

    type: str
    name: str
    """Name in the catalog; it may have the generation in it."""
    generation: int
    """Any generation that uses the table, by which it is opened."""


class _Bound(NamedTuple):
    uuid: str
    spec_id: int


@dataclass(slots=True)
class _Entry:
    range: Range
    topic_id: str | None
    generation: int
    put: datetime
    bound: Mapping[int, _Bound]
    """Bound tables of its revision, by index of the table."""
    rows: int
    """Tables, as bits, whose files it has."""
    named: int
    """Tables, as bits, whose files it has or of which its range has no rows."""
    left: int
    """Tables, as bits, of `named` that are not known to hold the range."""


@dataclass(slots=True)
class ReceiptBook:
    """The receipts of one topic. For one thread at a time."""

    name_of: Callable[[int, str], str]
    """Returns the name of the table of a generation and a type."""
    _entries: dict[ReceiptName, _Entry] = field(default_factory=dict)
    _places: dict[tuple[str, str], int] = field(default_factory=dict)
    _keys: list[TableKey] = field(default_factory=list)
    _bound: dict[str, dict[int, _Bound]] = field(default_factory=dict)
    _waived: int = 0
    """Tables, as bits, for which nothing waits any more."""

    def unknown(self, listed: Iterable[tuple[ReceiptName, datetime]]) -> dict[ReceiptName, datetime]:
        """Return the receipts that are there and were not read; forget those that are there no more."""
        found = dict(listed)
        for name in self._entries.keys() - found.keys():
            del self._entries[name]
        return {name: put for name, put in found.items() if name not in self._entries}

    def add(self, receipt: Receipt, put: datetime) -> None:
        """Take in a receipt that was read. Raises StorageError where its revision has written for other tables."""
        bound = self._bound.setdefault(receipt.revision, {})
        named = rows = 0
        for type_, of in receipt.tables.items():
            place = self._place(receipt.generation, type_)
            if bound.setdefault(place, _Bound(of.table, of.spec_id)) != _Bound(of.table, of.spec_id):
                name = self._keys[place].name
                raise StorageError("damaged", f"receipts of revision {receipt.revision} are for two tables {name}")
            rows |= 1 << place
        for type_ in receipt.without:
            named |= 1 << self._place(receipt.generation, type_)
        named |= rows
        self._entries[receipt.name] = _Entry(
            receipt.range, receipt.topic_id, receipt.generation, put, bound, rows, named, named & ~self._waived
        )

    def note_held(self, key: TableKey, held: Held) -> None:
        """Take in what a table holds, as it was loaded."""
        bit = 1 << self._places[key.type, key.name]
        for entry in self._entries.values():
            partition = entry.range.partition.partition
            if entry.range.end <= held_to(held, entry.generation, entry.topic_id, partition):
                entry.left &= ~bit

    def waive(self, key: TableKey) -> None:
        """Let no receipt wait for a table any more."""
        bit = 1 << self._places[key.type, key.name]
        self._waived |= bit
        for entry in self._entries.values():
            entry.left &= ~bit

    def newest_generation(self, key: TableKey) -> int:
        """Return the highest generation of those receipts that wait for a table; 0: none does."""
        bit = 1 << self._places[key.type, key.name]
        return max((entry.generation for entry in self._entries.values() if entry.left & bit), default=0)

    def waiting(self) -> list[TableKey]:
        """Return the tables that have not all rows that receipts have for them."""
        bits = 0
        for entry in self._entries.values():
            bits |= entry.left & entry.rows
        return list(self._tables(bits))

    def receipts(self) -> dict[TableKey, tuple[int, datetime]]:
        """Return of how many receipts a table has not all rows, and when the first of them was put."""
        found: dict[int, tuple[int, datetime]] = {}
        for entry in self._entries.values():
            bits = entry.left & entry.rows
            while bits:
                place = bits.bit_length() - 1
                bits ^= 1 << place
                count, oldest = found.get(place, (0, entry.put))
                found[place] = count + 1, min(oldest, entry.put)
        return {self._keys[place]: of for place, of in found.items()}

    def behind(self, *, most: int, before: datetime) -> list[TableKey]:
        """Return the tables that are only behind because they have no rows, where that keeps too many receipts.

        Args:
            most: receipts that may be kept for that.
            before: none that was put before may be kept for that.
        """
        kept = [entry for entry in self._entries.values() if entry.left and not entry.left & entry.rows]
        if len(kept) <= most and all(entry.put >= before for entry in kept):
            return []
        bits = 0
        for entry in kept:
            bits |= entry.left
        return list(self._tables(bits))

    def portions(self, key: TableKey) -> list[Portion]:
        """Return what receipts have for a table; those that do not name it have nothing for it."""
        place = self._places[key.type, key.name]
        bit = 1 << place
        found = []
        for entry in self._entries.values():
            if entry.rows & bit:
                of = entry.bound[place]
                found.append(Portion(entry.range, entry.topic_id, entry.generation, of.uuid, of.spec_id))
            elif entry.named & bit:
                found.append(Portion(entry.range, entry.topic_id, entry.generation, None))
        return found

    def done(self) -> list[ReceiptName]:
        """Return the receipts whose range is held by each table that they name."""
        return [name for name, entry in self._entries.items() if not entry.left]

    def drop(self, names: Iterable[ReceiptName]) -> None:
        for name in names:
            self._entries.pop(name, None)

    def _place(self, generation: int, type_: str) -> int:
        name = self.name_of(generation, type_)
        place = self._places.setdefault((type_, name), len(self._keys))
        if place == len(self._keys):
            self._keys.append(TableKey(type_, name, generation))
        return place

    def _tables(self, bits: int) -> Iterator[TableKey]:
        return (key for place, key in enumerate(self._keys) if bits >> place & 1)
