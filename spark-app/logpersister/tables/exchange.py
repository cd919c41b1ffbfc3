"""Decides which files a switch between generations takes out of a table, and which it puts in. Pure.

A table has the files of all objects that count (`storage.current`) and are committed. What a switch may put in is known
from kept receipts: those of replays, and those of what an earlier switch has taken out. The table itself says which
segments it shows, in a property that the snapshot of a switch sets. So a switch that died behind its snapshot does
nothing when it is repeated.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from logpersister.ranges import Offset, Span
from logpersister.storage.current import Current, Segment
from logpersister.storage.names import ObjectName
from logpersister.storage.receipts import Receipt, ReceiptName, TableFile
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Held, TableView, held_to

NameOf = Callable[[str], ObjectName | None]
"""Returns the name of the object at an address; None: it is none of the topic."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A live file of a table, whoever has written it."""

    file: TableFile
    """File with its address as key."""
    spec_id: int
    """Number of the partition spec that it was written by."""
    has_deletes: bool
    """Whether some of its rows are deleted by files beside it."""
    partitions: tuple[int, int] | None
    offsets: tuple[Offset, Offset] | None
    """Least and largest partition, and offset, of its rows; None: the table does not tell."""

    def may_have(self, partition: int, span: Span) -> bool:
        """Whether it may have rows of these offsets."""
        if self.partitions is not None and not self.partitions[0] <= partition <= self.partitions[1]:
            return False
        return self.offsets is None or (self.offsets[0] < span[1] and span[0] <= self.offsets[1])


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one snapshot does to a table."""

    table: str
    removed: Sequence[TableFile] = ()
    added: Sequence[TableFile] = ()
    shown: str | None = None
    """What the table shows afterwards; None: it shows that already, and nothing is to be done."""


def shown_text(current: Current) -> str:
    """Return the segments that a table shows as its property has them; empty where members count everywhere."""
    found = {
        str(partition): [[one.start, one.end, one.generation] for one in segments]
        for partition, segments in sorted(current.partitions.items())
        if segments
    }
    return json.dumps(found, separators=(",", ":")) if found else ""


def exchange(
    view: TableView,
    live: Callable[[], Iterable[LiveFile]],
    candidates: Mapping[str, TableFile],
    current: Current,
    name_of: NameOf,
) -> Exchange:
    """Return what makes a table show what counts. Raises `TableError`.

    Args:
        live: gives the live files; asked only where the table shows something else.
        candidates: files of kept receipts, by their addresses.
        current: what is to count.
    """
    wanted = shown_text(current)
    if view.shown == wanted:
        return Exchange(view.table)
    removed: list[TableFile] = []
    addresses: set[str] = set()
    for one in live():
        address = one.file.key
        name = name_of(address)
        addresses.add(address)
        if name is None:
            _check_foreign(view, one, current)
        elif not current.counts(name):
            if one.has_deletes:
                raise TableError(
                    "rewritten",
                    f"table {view.table}: rows of {address} were deleted, and would come back; compact the table, or "
                    "delete them again after the switch",
                )
            if one.spec_id != view.spec_id:
                raise TableError(
                    "partition-spec",
                    f"table {view.table}: {address} was written by partition spec {one.spec_id}, and the default is "
                    f"{view.spec_id} now; make spec {one.spec_id} the default again",
                )
            removed.append(one.file)
    added = [
        file
        for address, file in candidates.items()
        if address not in addresses and (name := name_of(address)) is not None and current.counts(name)
    ]
    return Exchange(view.table, removed, added, wanted)


def _check_foreign(view: TableView, file: LiveFile, current: Current) -> None:
    for bounds in current.replays.values():
        for partition, span in bounds.items():
            if file.may_have(partition, span):
                raise TableError(
                    "rewritten",
                    f"table {view.table}: file {file.file.key} was written by others, and may have rows of partition "
                    f"{partition} from offset {span[0]} to {span[1]}, which a switch would replace. Roll the table "
                    "back to before it was compacted, or raise spec.generation and store the topic again",
                )


def check_not_behind(view: TableView, held: Held, current: Current, waiting: Iterable[ReceiptName]) -> None:
    """Raise `TableError` where a receipt waits of rows that a replay has stored again: they would be appended later."""
    for name in waiting:
        holds = held_to(held, name.generation, current.topic_id, name.partition)
        if holds <= name.start and current.is_replayed(name.partition, name.start):
            raise TableError(
                "behind",
                f"table {view.table} has the rows of partition {name.partition} before offset {holds}, and those from "
                f"{name.start} on wait to be appended; switch when a member has done that (spec.table.commitInterval)",
            )


def check_receipts(table: str, current: Current, kept: Iterable[Receipt], type_: str) -> None:
    """Raise `TableError` unless kept receipts have all offsets of the segments that are to count."""
    found: dict[tuple[int, int], list[Receipt]] = {}
    for receipt in kept:
        if type_ in receipt.tables or type_ in receipt.without:
            found.setdefault((receipt.generation, receipt.range.partition.partition), []).append(receipt)
    for partition, segments in current.partitions.items():
        for segment in segments:
            missing = next(_missing(segment, found.get((segment.generation, partition), [])), None)
            if missing is not None:
                raise TableError(
                    "no-receipts",
                    f"table {table}: the replay into generation {segment.generation} has no receipt of partition "
                    f"{partition} from offset {missing} on: its manifest had no spec.table, or another one. Replay "
                    "with the table in a higher generation",
                )


def _missing(segment: Segment, receipts: Sequence[Receipt]) -> Iterator[Offset]:
    position = segment.start
    for receipt in sorted(receipts, key=lambda one: one.range.start):
        if receipt.range.start <= position < receipt.range.end:
            position = receipt.range.end
    if position < segment.end:
        yield position
