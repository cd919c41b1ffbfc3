"""Compares what objects hold with records of Kafka, item by item in lists, which Python compares at C's speed. Pure."""

import math
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from logpersister.ranges import Offset
from logpersister.records.checksum import PayloadChecksum
from logpersister.storage.facts import ObjectFacts
from logpersister.verify.content import Content, Items
from logpersister.verify.streams import ContentError


@dataclass(slots=True)
class Tally:
    """The facts of an object, as Kafka's records give them."""

    records: int = 0
    tombstones: int = 0
    first: Offset = -1
    last: Offset = -1
    checksum: PayloadChecksum = field(default_factory=PayloadChecksum)

    def add(self, batch: pa.RecordBatch) -> None:
        if self.records == 0:
            self.first = batch.column("offset")[0].as_py()
        self.last = batch.column("offset")[-1].as_py()
        self.records += batch.num_rows
        self.tombstones += batch.column("value").null_count
        self.checksum.update(batch)

    def differences(self, facts: ObjectFacts) -> list[str]:
        """Return what the facts of an object say otherwise."""
        sizes = self.checksum.sizes
        mine = (self.records, self.tombstones, self.first, self.last, self.checksum.text(), sizes)
        said_sizes = sizes if facts.payload is None else facts.payload  # earlier releases did not say it
        theirs = (facts.records, facts.tombstones, facts.first, facts.last, facts.checksum, said_sizes)
        names = ("records", "tombstones", "first", "last", "checksum", "payload")
        return [
            f"{name} {said} where Kafka has {true}"
            for name, said, true in zip(names, theirs, mine, strict=True)
            if said != true
        ]


class ExactComparison:
    """An object must hold these records, all of them, in this order, and nothing else."""

    def __init__(self, content: Content, stored: Iterator[Items]) -> None:
        self._offsets_of = content.offsets
        self._expected = content.expectation()
        self._stored = stored
        self._ahead: Items = ()
        self.difference: str | None = None
        """The first one that was found."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Compare the next records; after a difference nothing is compared any more."""
        if self.difference is not None:
            return
        expected = self._expected(batch)
        try:
            found = self._take(len(expected))
        except ContentError as error:
            self.difference = str(error)
            return
        if not same(list(found), list(expected)):
            self.difference = self._describe(batch, expected, found)

    def finish(self) -> None:
        """Compare the end."""
        if self.difference is not None:
            return
        try:
            if self._ahead or any(len(items) for items in self._stored):
                self.difference = "it holds more than Kafka's records"
        except ContentError as error:
            self.difference = str(error)

    def _take(self, count: int) -> Items:
        taken: list[Any] = [*self._ahead[:count]]
        self._ahead = self._ahead[count:]
        while len(taken) < count and (items := next(self._stored, None)) is not None:
            missing = count - len(taken)
            taken += items[:missing]
            self._ahead = items[missing:]
        return taken

    def _describe(self, batch: pa.RecordBatch, expected: Items, found: Items) -> str:
        first = next(
            (place for place, pair in enumerate(zip(expected, found, strict=False)) if not same(*pair)), len(found)
        )
        offsets, kept = batch.column("offset"), self._offsets_of(expected)
        if kept is not None:
            where = f"at offset {kept[first]}"
        elif len(expected) == len(offsets):  # else tombstones are left out, or values are of several lines
            where = f"at offset {offsets[first].as_py()}"
        else:
            where = f"between offsets {offsets[0].as_py()} and {offsets[-1].as_py()}"
        if first == len(found):
            return f"it ends before the record {where}"
        return f"{where} it holds {shortened(found[first])}, Kafka {shortened(expected[first])}"


class PartialComparison:
    """An object must hold these records, in this order, and may hold more: Kafka has deleted some since."""

    def __init__(self, content: Content, stored: Iterator[Items]) -> None:
        self._expected = content.expectation()
        self._items = chain.from_iterable(stored)
        self.difference: str | None = None
        """The first one that was found."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Look for the next records; after a difference for none any more."""
        if self.difference is not None:
            return
        try:
            for expected in self._expected(batch):
                if not any(same(item, expected) for item in self._items):
                    first, last = batch.column("offset")[0].as_py(), batch.column("offset")[-1].as_py()
                    self.difference = (
                        f"it lacks {shortened(expected)}, which Kafka has between offsets {first} and {last}"
                    )
                    return
        except ContentError as error:
            self.difference = str(error)

    def finish(self) -> None:
        """Read the end."""
        if self.difference is not None:
            return
        try:
            for _ in self._items:
                pass
        except ContentError as error:
            self.difference = str(error)


class OwnFacts:
    """Whether what an object holds agrees with its own facts, as far as the format keeps what they are about."""

    def __init__(self, content: Content, facts: ObjectFacts) -> None:
        self._content = content
        self._facts = facts
        self._items = 0
        self._next_offset = facts.first
        self._bytes = self._lengths = 0
        self._values_are_kept = True

    def through(self, stored: Iterator[Items]) -> Iterator[Items]:
        """Pass the items on. Raises `ContentError`."""
        for items in stored:
            self._items += len(items)
            in_order = self._in_order(items)
            values = None if in_order is None else self._content.values(in_order)
            if values is None:
                self._values_are_kept = False
            else:
                self._bytes = zlib.crc32(b"".join(values), self._bytes)
                self._lengths = zlib.crc32(_little_endian(map(len, values)), self._lengths)
            self._look_at(None if in_order is None else self._content.offsets(in_order))
            yield items

    def _in_order(self, items: Items) -> Items | None:
        """Return items in the order of offsets; None: it is not known."""
        if self._content.sorting is None:
            return items
        offsets = self._content.offsets(items)
        return None if offsets is None else [items[place] for place in np.argsort(offsets, kind="stable")]

    def _look_at(self, offsets: Sequence[Offset] | None) -> None:
        """Raise `ContentError` unless these offsets follow those before and are in the object's range."""
        for offset in offsets or ():
            if not self._next_offset <= offset <= self._facts.last:
                wanted = f"{self._next_offset}..{self._facts.last}"
                raise ContentError(f"it holds offset {offset} where its facts ask for one in {wanted}")
            self._next_offset = offset + 1

    @property
    def surplus(self) -> int:
        """Items more than records: lines, where values contain the delimiter."""
        facts = self._facts
        return self._items - (facts.records - facts.tombstones * self._content.skips_tombstones)

    def difference(self) -> str | None:
        """Return what is wrong once everything went through; None also where nothing can be said (`surplus`)."""
        if self.surplus < 0:
            return f"it holds {self._items} records where its facts ask for {self._items - self.surplus}"
        if self.surplus > 0:
            more = f"it holds {self._items} records where its facts ask for {self._items - self.surplus}"
            return None if self._content.may_split_values else more
        if not self._values_are_kept:
            return None
        of_bytes, of_lengths, *_ = self._facts.checksum.removeprefix("crc32:").split("-")
        nulls_are_lost = self._facts.tombstones > 0
        if of_bytes != f"{self._bytes:08x}" or (of_lengths != f"{self._lengths:08x}" and not nulls_are_lost):
            return "what it holds does not have the checksum of its facts"
        return None


def _little_endian(lengths: Iterable[int]) -> bytes:
    packed = array("i", lengths)
    assert packed.itemsize == 4
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def same(one: Any, other: Any) -> bool:
    """Return whether items are the same, also where a number in them is NaN, which is equal to nothing."""
    if one == other:
        return True
    if isinstance(one, float) and isinstance(other, float):
        return math.isnan(one) and math.isnan(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    return False


def shortened(item: Any) -> str:
    """Return an item as a message may show it."""
    text = repr(item)
    return text if len(text) <= 80 else text[:77] + "…"
