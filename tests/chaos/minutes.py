"""The layout of folders by minute that are finished: where a record belongs, also if it came late."""

from dataclasses import dataclass

from tests.chaos.check import Row, Seen
from tests.chaos.choices import Late
from tests.chaos.contents import LATE_FOLDER, QUARANTINE, TOMBSTONE, minute_folder


@dataclass(frozen=True)
class ByMinute:
    """Rows in a folder for each minute of Kafka's time, tombstones among them as rows of nulls.

    Records that stand apart are where ``late`` says.
    """

    late: Late = "append"

    def folder(self, record: Seen) -> str:
        """Return the folder of a record that is a row."""
        return minute_folder(record.timestamp)

    def path(self, record: Seen) -> str | None:
        if record.place in (None, QUARANTINE):
            return record.place
        if not record.is_apart or self.late == "append":
            return self.folder(record)
        return QUARANTINE if self.late == "quarantine" else f"{LATE_FOLDER}/{self.folder(record)}"

    def row(self, record: Seen) -> Row | None:
        in_quarantine = record.is_apart and self.late == "quarantine" and record.place != QUARANTINE
        content = record.if_late if in_quarantine else record.content
        return Row(content or TOMBSTONE, record.offset, record.timestamp, record.key)
