"""Servers that are away: since when, why, and what is tried. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from logpersister.report.human import instant

Server = Literal["kafka", "bucket", "registry", "catalog", "copy"]
PROBED: Final[tuple[Server, ...]] = ("kafka", "bucket")
"""Servers that every member has, and looks after whether it asks them anything or not."""
NAMES: dict[Server, str] = {
    "kafka": "Kafka",
    "bucket": "the bucket",
    "registry": "the schema registry",
    "catalog": "the catalog of tables",
    "copy": "a copy of the bucket",
}


@dataclass(frozen=True, slots=True)
class Outage:
    """One server that cannot be reached, or refuses what it is asked."""

    server: Server
    reason: str
    """Reason in words: ``127.0.0.1:9092: connection refused: nothing listens there``."""
    remedy: str
    tried: str
    """What the member does meanwhile."""
    since: datetime
    lasting: bool = False
    """Whether it has lasted longer than the session of a member: Kafka gives its partitions to others by then."""

    def __str__(self) -> str:
        return f"{NAMES[self.server]} is away since {instant(self.since, 'seconds')}: {self.reason}; {self.tried}"
