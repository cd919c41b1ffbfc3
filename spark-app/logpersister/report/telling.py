"""What a member says of those who are told of finished folders. Pure."""

from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RefusedFolder:
    """A folder that somebody will never take."""

    topic: str
    folder: str
    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class TellingReport:
    """Where one policy stands, for the topics whose partition 0 this member owns."""

    policy: str
    """``webhook`` or ``kafka``."""
    told: int = 0
    """Folders, since this process began."""
    untold: int = 0
    """Folders whose notification is due, as last seen."""
    refused: int = 0
    """Since this process began."""
    last_refused: RefusedFolder | None = None


def telling_document(report: TellingReport) -> Document:
    """Return the report for the status document."""
    last = report.last_refused
    return {
        "policy": report.policy,
        "told": report.told,
        "untold": report.untold,
        "refused": report.refused,
        "lastRefused": None
        if last is None
        else {"topic": last.topic, "folder": last.folder, "number": last.number, "reason": last.reason},
    }
