"""Finds the old offsets of all records in a backup, and writes the table of old and new ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from logpersister.backup.ranges import Piece
from logpersister.pipeline.reader.segment import Segment
from logpersister.ranges import TopicPartition
from logpersister.restore.execution import ReadObject
from logpersister.restore.offset_map import OffsetMap
from logpersister.restore.plan import PartitionPlan


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
    for batch in Segment(read(piece.object.key), piece.range.start, piece.range.end).batches():
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
