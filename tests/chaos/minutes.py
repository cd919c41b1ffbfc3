"""Layouts of folders by minute that are finished: where a record belongs, also if it came late."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from tests.chaos.check import Row, Seen
from tests.chaos.choices import Late
from tests.chaos.contents import LATE_FOLDER, QUARANTINE, TOMBSTONE, minute_folder


@dataclass(frozen=True)
class MinuteFolders(ABC):
    """Rows in folders by minute, tombstones among them; records that stand apart are where ``late`` says."""

    late: Late = "append"

    @abstractmethod
    def folder(self, record: Seen) -> str:
        """Return the folder of a record that is a row."""

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


class ByTypeAndMinute(MinuteFolders):
    """The same below a folder for each type, which is the first one of the place that a judge has found."""

    def folder(self, record: Seen) -> str:
        return f"{str(record.place).partition('/')[0]}/{minute_folder(record.timestamp)}"


@dataclass(frozen=True)
class OfType:
    """Rows of one type as its table has them: in the columns of their folder, and no others."""

    layout: ByTypeAndMinute
    folder: str
    """Of the type."""

    def path(self, record: Seen) -> str | None:
        path = self.layout.path(record)
        return path.removeprefix(f"{self.folder}/") if path is not None and path.startswith(f"{self.folder}/") else None

    def row(self, record: Seen) -> Row | None:
        return self.layout.row(record)
