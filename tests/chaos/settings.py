"""What a run is made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.chaos.check import Layout, SequenceFiles, TextByDay
from tests.chaos.producer import TOPICS
from tests.chaos.witnesses import Read, escaped_gzip_lines, messagepack_files

BUCKET = "chaos"
_SESSION_SECONDS = {1: 6, 3: 20}
"""By the number of brokers: the shortest that the manifest allows; and with three, long enough for a member that is
killed to come back within it, and for the coordinator to move."""


@dataclass(frozen=True)
class Output:
    """A consumer group of its own, on the same topics as the others."""

    name: str
    """Group, prefix, and first part of its members' names."""
    spec: Mapping[str, Any]
    layout: Layout
    read: Read

    def manifest(self, *, bootstrap: str, endpoint: str, session_seconds: int) -> dict[str, Any]:
        return {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": self.name},
            "spec": {
                "kafka": {
                    "bootstrapServers": bootstrap,
                    "topics": [topic.name for topic in TOPICS],
                    "sessionTimeout": f"{session_seconds}s",
                },
                "storage": {
                    "bucket": BUCKET,
                    "prefix": self.name,
                    "endpoint": endpoint,
                    "secretName": "s3",
                    "partSize": "5Mi",
                },
                "output": self.spec,
                "upload": {"maxBytes": "12Mi", "maxAge": "2s"},
                "cycleInterval": "300ms",
                "shutdownGrace": "10s",
            },
        }


TEXT = Output(
    "text",
    {
        "format": "text",
        "compression": "gzip",
        "text": {"delimiterInValue": "escape"},
        "partitionBy": [{"date": {"granularity": "day"}}],
    },
    TextByDay(),
    escaped_gzip_lines,
)
FILES = Output(
    "files",
    {"format": "sequencefile", "sequencefile": {"key": "messagepack", "compressionType": "block"}},
    SequenceFiles(),
    messagepack_files,
)


@dataclass(frozen=True)
class Settings:
    """How much is done to whom."""

    seed: int
    kills: int = 20
    """At least so many ``kill -9`` of members; those of their Python workers alone do not count."""
    seconds: float = 600.0
    """Disturbances go on for at least so long."""
    crews: Mapping[str, int] = field(default_factory=lambda: {TEXT.name: 2, FILES.name: 1})
    """Members by output."""
    brokers: int = 3
    """1 or 3."""
    oldest: bool = False
    """Whether the three are of the oldest release that is promised."""
    pause: tuple[float, float] = (1.0, 8.0)
    """Seconds between the beginnings of two disturbances."""
    settle_seconds: float = 240.0
    """How long the lag may take to be worked off in the end."""

    @property
    def session_seconds(self) -> int:
        return _SESSION_SECONDS[self.brokers]

    @property
    def outputs(self) -> list[Output]:
        return [output for output in (TEXT, FILES) if output.name in self.crews]

    @property
    def limit_seconds(self) -> float:
        """When a run that does not get its kills done is given up."""
        return self.seconds + 60.0 * (self.kills + 2)
