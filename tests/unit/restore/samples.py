"""A backup in memory, of one partition."""

from collections.abc import Callable, Generator, Sequence

from logpersister.backup.listing import TopicBackup
from logpersister.backup.ranges import BackupObject, Piece, partition_backups
from logpersister.ranges import Range, TopicPartition
from logpersister.restore.plan import PartitionPlan
from tests.unit.reader import record_batches as made

SOURCE, TARGET = TopicPartition("clicks", 0), TopicPartition("again", 0)
Row = tuple[bytes | None, bytes | None]


def batch(base: int, *values: bytes | None) -> made.Batch:
    return made.Batch([made.Record(b"k", value) for value in values], base)


class Backup:
    """Objects, each of the batches that it holds and the end of its range."""

    def __init__(self, *objects: tuple[int, int, Sequence[made.Batch]]) -> None:
        self._content: dict[str, bytes] = {}
        self.read_keys: list[str] = []
        self.rows: list[bytes | None] = []
        pieces = []
        for start, end, batches in objects:
            inside = [
                (one.base_offset + made.delta(record, place), record.value)
                for one in batches
                for place, record in enumerate(one.records)
                if start <= one.base_offset + made.delta(record, place) < end
            ]
            self.rows += [value for _, value in inside]
            key, range_ = f"clicks/1_0_{start:020}.kafka", Range(SOURCE, start, end)
            self._content[key] = b"".join(one.encode() for one in batches)
            pieces.append(Piece(range_, BackupObject(key, range_, 1, len(inside), inside[0][0], inside[-1][0])))
        self.pieces = tuple(pieces)

    def plan(self, stored: int = 0) -> PartitionPlan:
        return PartitionPlan(SOURCE, TARGET, self.pieces, stored)

    def topic(self) -> TopicBackup:
        return TopicBackup("id", 1, partition_backups(piece.object for piece in self.pieces))

    def read(self, key: str) -> Generator[bytes, None, None]:
        self.read_keys.append(key)
        yield self._content[key]

    def spoil(self, key: str, change: Callable[[bytes], bytes]) -> None:
        self._content[key] = change(self._content[key])
