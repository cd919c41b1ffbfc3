"""What Spark itself notes of a member's jobs: its event log."""

from pathlib import Path
from typing import Any


class SparkLog:
    """Spark's event log in a directory of its own; ``conf`` goes into ``spec.spark`` of a manifest."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "spark-events"
        self._directory.mkdir()

    @property
    def conf(self) -> dict[str, Any]:
        return {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": self._directory.as_uri(),
            "spark.eventLog.compress": "false",
        }

    def text(self) -> str:
        """Return everything that was logged, JSON lines."""
        return "".join(file.read_text() for file in self._directory.rglob("*") if file.is_file())
