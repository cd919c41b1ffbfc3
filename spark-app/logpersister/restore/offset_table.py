"""Finds the old offsets of all records in a backup, and writes the table of old and new ones."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from logpersister.backup.ranges import Piece
from logpersister.formats.text.settings import TextSpec
from logpersister.pipeline.backup_content import records_of
from logpersister.ranges import Offset, TopicPartition
from logpersister.restore.execution import ReadObject
from logpersister.restore.plan import PartitionPlan


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


def offset_map(plan: PartitionPlan, read: ReadObject) -> OffsetMap:
    """Return the offsets of a partition. Reads only objects whose offsets have gaps. Raises `ContentError`."""
    found = OffsetMap()
    for piece in plan.pieces:
        if piece.is_whole and piece.object.is_dense:
            found.add_run(piece.object.first, piece.object.records)
        else:
            _add(found, piece, read)
    return found


def _add(found: OffsetMap, piece: Piece, read: ReadObject) -> None:
    for batch in records_of(piece, read(piece.object.key), TextSpec(), headers=False):
        offsets = batch.column("offset").to_numpy()
        begins = np.concatenate([[0], np.flatnonzero(np.diff(offsets) != 1) + 1, [len(offsets)]])
        for begin, end in zip(begins[:-1].tolist(), begins[1:].tolist(), strict=True):
            found.add_run(int(offsets[begin]), end - begin)


def document(plans: Mapping[TopicPartition, PartitionPlan], maps: Mapping[TopicPartition, OffsetMap]) -> dict[str, Any]:
    """Return the table; docs/restore.md describes it."""
    return {
        "partitions": [
            {
                "topic": source.topic,
                "partition": source.partition,
                "target": plans[source].target.topic,
                "records": maps[source].records,
                "runs": maps[source].runs(),
            }
            for source in sorted(plans)
        ]
    }
