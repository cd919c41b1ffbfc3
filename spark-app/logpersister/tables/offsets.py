"""Offsets that a table holds, as its snapshots say: per partition, by generation and topic id. Pure.

Each snapshot of ours carries them in its summary. Compaction and deletes of other engines add snapshots behind it, so
the nearest ancestor of the current snapshot that carries some says what the table holds. The same commit notes its
sequence number and offsets in a property of the table. It is not a second truth. It tells two things that snapshots
alone cannot: that the table was rolled back to before our last snapshot, and what it holds once ours have expired.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from logpersister.ranges import Offset
from logpersister.tables.errors import TableError

SUMMARY: Final = "logpersister.offsets"
"""Key of a snapshot's summary."""
LAST: Final = "logpersister.last"
"""Property of a table: its last snapshot of ours."""
ACCEPTED: Final = "logpersister.accepted"
"""Property of a table, which a person sets: the id of the snapshot that it was rolled back to on purpose."""
NO_SNAPSHOT: Final = "none"
"""Value of `ACCEPTED` for a table that was emptied."""
GAPS: Final = "logpersister.accepted-gaps"
"""Property of a table, which a person sets: offsets whose rows the table need not have, as messages name them."""
SHOWN: Final = "logpersister.shown"
"""Property of a table: the segments of replays whose rows it shows (`tables.exchange`)."""


class Numbering(NamedTuple):
    """What offsets are counted in: a generation of a topic."""

    generation: int
    topic_id: str
    """Empty where brokers have no ids."""


Held = Mapping[Numbering, Mapping[int, Offset]]
"""Offset per partition before which the table has every row, by generation and topic id."""


def held_to(held: Held, generation: int, topic_id: str | None, partition: int) -> Offset:
    """Return the offset before which the table has every row of a partition."""
    return held.get(Numbering(generation, topic_id or ""), {}).get(partition, 0)


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A snapshot of the table, or one that it was made from."""

    snapshot_id: int
    sequence_number: int
    """Rises with each commit, also over a rollback."""
    has_parent: bool
    offsets: str | None
    """What its summary carries; None: it is none of ours."""


@dataclass(frozen=True, slots=True)
class TableView:
    """A table at one moment: one version of its metadata."""

    table: str
    uuid: str
    spec_id: int
    ancestors: Sequence[Ancestor]
    """The current snapshot first; none for an empty table. Expired ones are missing at the end."""
    last: str | None
    accepted: str | None
    gaps: str = ""
    """The property `GAPS`: names of gaps with commas between them."""
    at: int | None = None
    """When the current snapshot was made, in milliseconds since the epoch; None: there is none."""
    shown: str = ""
    """The property `SHOWN`; empty: the table shows what members have stored."""

    def accepts_gap(self, gap: str) -> bool:
        return gap in self.gaps.replace(" ", "").split(",")


def held_text(held: Held) -> str:
    """Return offsets as a summary carries them."""
    return json.dumps(
        {
            f"{of.generation}/{of.topic_id}": {str(partition): offset for partition, offset in sorted(offsets.items())}
            for of, offsets in sorted(held.items())
        },
        separators=(",", ":"),
    )


def last_text(held: Held, snapshot_id: int, sequence_number: int) -> str:
    """Return the property `LAST` of a commit."""
    return json.dumps({"sequence": sequence_number, "snapshot": snapshot_id, "offsets": held_text(held)})


def held_by(view: TableView) -> Held:
    """Return the offsets that a table holds. Raises `TableError`: ``rolled-back`` or ``unreadable``."""
    last = None if view.last is None else _parsed_last(view)
    found = next((one for one in view.ancestors if one.offsets is not None), None)
    if last is None:
        return {} if found is None else _parsed(view, found.offsets)
    sequence, text = last
    if found is not None and found.sequence_number >= sequence:
        return _parsed(view, found.offsets)
    # Either our last snapshot is no ancestor any more, or it has expired. An expired one was older than all that are
    # left, and the chain is cut behind them. (A summary of ours that is older than the last one was rolled back to.)
    oldest = view.ancestors[-1] if view.ancestors else None
    expired = found is None and oldest is not None and oldest.has_parent and oldest.sequence_number > sequence
    if expired or _is_accepted(view):
        return _parsed(view, text)
    current = view.ancestors[0].snapshot_id if view.ancestors else NO_SNAPSHOT
    raise TableError(
        "rolled-back",
        f"table {view.table} was rolled back: its current snapshot {current} is older than the last append, whose "
        f"offsets are {text}. Roll it forward to a snapshot that has them, or, if the rows are to stay away, set its "
        f"property {ACCEPTED} to {current}; a replay in a higher generation appends them again",
    )


def _is_accepted(view: TableView) -> bool:
    """Whether a person wants the rows that a rollback took away to stay away.

    What we have appended behind the accepted snapshot says that an earlier rollback was meant.
    """
    if not view.ancestors:
        return view.accepted == NO_SNAPSHOT
    for one in view.ancestors:
        if str(one.snapshot_id) == view.accepted:
            return True
        if one.offsets is not None:
            return False
    return False


def _parsed_last(view: TableView) -> tuple[int, str]:
    try:
        document = json.loads(view.last or "")
        return int(document["sequence"]), str(document["offsets"])
    except (KeyError, TypeError, ValueError):
        raise _unreadable(view, f"property {LAST}") from None


def _parsed(view: TableView, text: str | None) -> Held:
    held: dict[Numbering, Mapping[int, Offset]] = {}
    try:
        for name, offsets in json.loads(text or "").items():
            generation, _, topic_id = name.partition("/")
            held[Numbering(int(generation), topic_id)] = {int(p): int(offset) for p, offset in offsets.items()}
    except (AttributeError, TypeError, ValueError):
        raise _unreadable(view, f"{SUMMARY} in the summary of a snapshot") from None
    return held


def _unreadable(view: TableView, where: str) -> TableError:
    return TableError(
        "unreadable",
        f"table {view.table}: {where} is not what a member writes; see who changed it, and restore it",
    )
