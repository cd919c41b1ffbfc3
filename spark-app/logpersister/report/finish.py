"""What a member says of finished folders. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from logpersister.report.human import instant
from logpersister.report.telling import TellingReport, telling_document

Document = dict[str, Any]

MAX_WAITING: Final = 10


@dataclass(frozen=True, slots=True)
class WaitingFolder:
    """The oldest folder of a topic that could be finished by the clock, and is not."""

    topic: str
    folder: str
    end: datetime
    reason: str
    """What it waits for."""


@dataclass(frozen=True, slots=True)
class FinishReport:
    """Where this member stands with the topics whose partition 0 it owns."""

    finished: int = 0
    """Folders, since this process began."""
    late_records: int = 0
    """Records that came into finished folders, since this process began."""
    waiting: Mapping[str, WaitingFolder] | None = None
    """By topic."""


def finish_document(report: FinishReport, telling: Sequence[TellingReport] = ()) -> Document:
    """Return it as the status document has it, with those who are told."""
    waiting = sorted((report.waiting or {}).values(), key=lambda one: (one.end, one.topic))
    return {
        "finishedFolders": report.finished,
        "lateRecords": report.late_records,
        "waiting": {"count": len(waiting), "first": [_waiting(one) for one in waiting[:MAX_WAITING]]},
        "telling": [telling_document(one) for one in telling],
    }


def _waiting(waiting: WaitingFolder) -> Document:
    return {
        "topic": waiting.topic,
        "folder": waiting.folder,
        "end": instant(waiting.end),
        "reason": waiting.reason,
    }
