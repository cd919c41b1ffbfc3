"""Where a time lies in a partition of a backup, by the first record of each object that has to be asked.

Timestamps are taken to rise from object to object. Where they do not, a replay begins or ends some objects away.
"""

from bisect import bisect_left
from contextlib import closing

from logpersister.backup.ranges import PartitionBackup, Piece
from logpersister.formats.text.settings import TextSpec
from logpersister.pipeline.backup_content import records_of
from logpersister.ranges import Offset
from logpersister.storage.store import ObjectStore


class BackupMoments:
    """Asks the bucket of a backup, whose format keeps times."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def before(self, backup: PartitionBackup, moment: int) -> Offset:
        """Return an offset before which no record is as late as a time, in milliseconds since the epoch."""
        behind = self._behind(backup, moment)
        return backup.pieces[behind - 1].range.start if behind else backup.start

    def behind(self, backup: PartitionBackup, moment: int) -> Offset:
        """Return an offset from which on all records are as late as a time, or later."""
        behind = self._behind(backup, moment)
        return backup.end if behind == len(backup.pieces) else backup.pieces[behind].range.start

    def _behind(self, backup: PartitionBackup, moment: int) -> int:
        return bisect_left(backup.pieces, moment, key=self._begins)

    def _begins(self, piece: Piece) -> int:
        """Return the timestamp of the first record of a piece. Raises ContentError and StorageError."""
        with closing(self._store.read(piece.object.key)) as content:
            first = next(records_of(piece, content, TextSpec(), headers=False), None)
        return -1 if first is None else int(first.column("timestamp")[0].as_py())
