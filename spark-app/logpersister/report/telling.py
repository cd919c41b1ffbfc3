"""A member's report on notifications about finished folders. Pure."""

from dataclasses import dataclass


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
