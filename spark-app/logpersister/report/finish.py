"""A member's report on finished folders. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from logpersister.report.plain import Document, plain

MAX_WAITING: Final = 10
MAX_PARTITIONS: Final = 10


@dataclass(frozen=True, slots=True)
class RefusedFolder:
    """Folder whose notification a recipient has refused for good."""

    topic: str
    folder: str
    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class TellingReport:
    """Notifications of one policy, for the topics whose partition 0 this member owns."""

    policy: str
    told: int = 0
    """Folders whose notification was accepted, since this process began."""
    untold: int = 0
    """Folders whose notification is due, as last seen."""
    refused: int = 0
    """Folders whose notification was refused, since this process began."""
    last_refused: RefusedFolder | None = None


@dataclass(frozen=True, slots=True)
class WaitingFolder:
    """The oldest folder of a topic that could be finished by the clock, and is not."""

    topic: str
    folder: str
    end: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class GuessedFolder:
    """A folder that was finished though not each partition has a record that proves that it is over."""

    topic: str
    folder: str
    partitions: Mapping[str, Sequence[int]]
    """Partitions without proof, by guess: ``idle``, or ``future`` where a record from the future hides the times."""


@dataclass(frozen=True, slots=True)
class FinishReport:
    """Where this member stands with the topics whose partition 0 it owns."""

    finished: int = 0
    """Folders, since this process began."""
    guessed: int = 0
    """Folders that were finished by a guess."""
    last_guessed: GuessedFolder | None = None
    late_records: int = 0
    """Records that came into finished folders, since this process began."""
    waiting: Mapping[str, WaitingFolder] | None = None


def finish_document(report: FinishReport, telling: Sequence[TellingReport] = ()) -> Document:
    """Return the report for the status document, with the notification reports."""
    waiting = sorted((report.waiting or {}).values(), key=lambda one: (one.end, one.topic))
    return {
        "finishedFolders": report.finished,
        "guessed": {"count": report.guessed, "last": _guessed(report.last_guessed)},
        "lateRecords": report.late_records,
        "waiting": {"count": len(waiting), "first": plain(waiting[:MAX_WAITING])},
        "telling": plain(telling),
    }


def _guessed(guessed: GuessedFolder | None) -> Document | None:
    if guessed is None:
        return None
    partitions = {guess: list(some[:MAX_PARTITIONS]) for guess, some in guessed.partitions.items()}
    return {"topic": guessed.topic, "folder": guessed.folder, **partitions}
