"""A member's report on Iceberg tables: how far each is behind what is stored. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from logpersister.report.plain import Document, plain

MAX_TABLES: Final = 300
"""Tables that are told apart by metrics of one member; those that come later share ``other``."""
MAX_BEHIND: Final = 10


@dataclass(frozen=True, slots=True)
class TableReport:
    """Where one table stands; its topic's partition 0 is this member's own."""

    topic: str
    table: str
    receipts: int = 0
    """Receipts whose rows it does not have."""
    oldest: datetime | None = None
    """When the first of them was left; None: none waits."""
    last_snapshot: datetime | None = None
    """When its newest snapshot was made, as this process has last seen it."""


@dataclass(frozen=True, slots=True)
class TablesReport:
    """All tables of a member."""

    interval: float
    """Seconds between two snapshots of a table that gets rows."""
    tables: Sequence[TableReport] = ()
    rows: int = 0
    """Rows appended since this process began."""


def tables_document(report: TablesReport) -> Document:
    """Return the report for the status document."""
    behind = [(one.oldest, one.table, one) for one in report.tables if one.oldest is not None]
    return {
        "count": len(report.tables),
        "rows": report.rows,
        "behind": len(behind),
        "mostBehind": plain([one for _, _, one in sorted(behind, key=lambda one: one[:2])[:MAX_BEHIND]]),
    }
