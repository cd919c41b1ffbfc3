"""Old and new offsets of a partition. Pure.

The records of a backup get offsets without gaps, from 0 on, where compaction, aborted transactions and markers had left
gaps. So an old offset becomes the number of records before it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from logpersister.ranges import Offset


@dataclass(slots=True)
class OffsetMap:
    """The offsets of one partition, as runs of records that follow each other in both places."""

    olds: list[Offset] = field(default_factory=list)
    """Old offset of the first record of each run, rising."""
    news: list[Offset] = field(default_factory=list)
    """New offset of the same record."""
    records: int = 0
    """Records of all runs, which is the new offset of the next record."""

    def add_run(self, old: Offset, records: int) -> None:
        """Add records, behind all others, whose old offsets have no gap between them."""
        if self.olds and old < self._old_end:
            raise ValueError(f"offset {old} does not follow {self._old_end - 1}")
        if not self.olds or old != self._old_end:
            self.olds.append(old)
            self.news.append(self.records)
        self.records += records

    def add(self, offsets: Iterable[Offset]) -> None:
        """Add records, behind all others, by their old offsets."""
        for offset in offsets:
            self.add_run(offset, 1)

    @property
    def _old_end(self) -> Offset:
        """Old offset behind the last record."""
        return self.olds[-1] + self.records - self.news[-1]

    def new(self, old: Offset) -> Offset:
        """Return where a consumer goes on that would have gone on at an old offset."""
        run = bisect_right(self.olds, old) - 1
        if run < 0:
            return 0
        behind = self.news[run + 1] if run + 1 < len(self.news) else self.records
        return min(self.news[run] + old - self.olds[run], behind)

    def runs(self) -> Sequence[tuple[Offset, Offset, int]]:
        """Return old offset, new offset and number of records of each run."""
        ends = [*self.news, self.records][1:]
        return [(old, new, end - new) for old, new, end in zip(self.olds, self.news, ends, strict=True)]
