"""The table of a run: is each record in exactly one live row, in its partition, with the values that it has in Kafka?

The judge is pure. It gets rows as readers of other projects have read them (pyiceberg, DuckDB, Spark), and looks at no
metadata of the product but the offsets in the summaries of snapshots, which are promised (docs/tables.md).
"""

import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.chaos.check import Layout, Problem, Progress, Row, Seen, TopicPartition
from tests.chaos.folders import is_of_time

SUMMARY = "logpersister.offsets"
_GENERATION = 1
_SHOWN = 3


class LiveRow(NamedTuple):
    """A row of the table: its partition of Kafka, its folder by the table's columns, and the rest."""

    partition: int
    folder: str
    row: Row


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What the snapshots of a table say, the oldest first."""

    offsets: Sequence[str]
    """The summaries of those that have offsets."""
    others: int
    """How many have none: those of other writers."""


def examine(
    rows: Iterable[LiveRow],
    topic: str,
    kafka: Mapping[TopicPartition, Sequence[Seen]],
    layout: Layout,
    reader: str,
    *,
    folders: Container[str] | None = None,
) -> list[Problem]:
    """Return every way in which live rows are not the records; none is the promise held.

    Args:
        rows: all live rows, as a reader has them.
        topic: whose rows they are.
        kafka: all records.
        layout: what rows should look like, and in which folder.
        reader: its name, for messages.
        folders: those that are in the table, if not all are.
    """
    found: dict[tuple[int, int], LiveRow] = {}
    times: Counter[tuple[int, int]] = Counter()
    for one in rows:
        at = one.partition, -1 if one.row.offset is None else one.row.offset
        times[at] += 1
        found[at] = one
    expected = {at: row for at, row in _expected(topic, kafka, layout) if folders is None or row.folder in folders}
    wrong: dict[str, list[tuple[int, int]]] = {}
    for at in sorted(found.keys() | expected.keys()):
        if kind := _kind(found.get(at), expected.get(at), times[at]):
            wrong.setdefault(kind, []).append(at)
    return [
        Problem(kind, f"table, by {reader}", f"{len(where)} rows, such as {_told(where)}")
        for kind, where in wrong.items()
    ]


def _kind(found: LiveRow | None, expected: LiveRow | None, times: int) -> str | None:
    if found is None:
        return "missing"
    if times > 1:
        return "duplicate"
    if expected is None:
        return "foreign"
    if found.folder != expected.folder:
        return "place"
    return "changed" if found.row != expected.row else None


def _expected(
    topic: str, kafka: Mapping[TopicPartition, Sequence[Seen]], layout: Layout
) -> Iterator[tuple[tuple[int, int], LiveRow]]:
    for of, records in kafka.items():
        if of[0] != topic:
            continue
        for record in records:
            folder, row = layout.path(record), layout.row(record)
            if folder is not None and is_of_time(folder) and row is not None:
                yield (of[1], record.offset), LiveRow(of[1], folder, row)


def examine_offsets(
    snapshots: Snapshots,
    receipts: Sequence[str],
    topic: str,
    progress: Mapping[TopicPartition, Progress],
    *,
    of_type: bool = False,
) -> list[Problem]:
    """Return what is wrong with what a table says that it holds, and with what waits to be appended.

    One ``of_type`` says how far it is when it gets rows, so it may be behind.
    """
    problems = [Problem("receipt", one, "is left, though everything is committed") for one in receipts]
    last: dict[int, int] = {}
    for text in snapshots.offsets:
        try:
            held = _held(text)
        except (ValueError, AttributeError) as error:
            problems.append(Problem("offsets", f"table {topic}", f"a summary says {text}: {error}"))
            continue
        back = sorted(partition for partition, offset in last.items() if held.get(partition, 0) < offset)
        if back:
            problems.append(Problem("offsets", f"table {topic}", f"partitions {back} went back from {last} to {held}"))
        last = held
    committed = {of[1]: one.committed for of, one in progress.items() if of[0] == topic and one.committed > 0}
    is_behind = all(offset <= committed.get(partition, 0) for partition, offset in last.items())
    if last != committed and not (of_type and is_behind):
        problems.append(Problem("offsets", f"table {topic}", f"it says that it holds {last}; committed is {committed}"))
    return problems


def _held(text: str) -> dict[int, int]:
    """Return offsets by partition of the only generation that there should be."""
    found: dict[int, int] = {}
    for numbering, offsets in json.loads(text).items():
        if int(numbering.partition("/")[0]) != _GENERATION:
            raise ValueError(f"{text} has another generation than {_GENERATION}")
        found |= {int(partition): offset for partition, offset in offsets.items()}
    return found


def _told(where: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{partition}@{offset}" for partition, offset in where[:_SHOWN])
    return shown + (f" and {len(where) - _SHOWN} more" if len(where) > _SHOWN else "")
