"""The group's memory, which tells whenever the bucket fails it: such failures concern no range, and stop them all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from logpersister.member.ports import Memory
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.losses import Cause


class TellingMemory:
    """A `Memory` that does what another one does."""

    def __init__(self, memory: Memory, place: str, on_failure: Callable[[StorageError], None]) -> None:
        self._memory = memory
        self._place = place
        """Ours: what fails in another one stops only who needs that."""
        self._on_failure = on_failure

    def tails(
        self, partitions: Iterable[TopicPartition], generation: int, most: int
    ) -> dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError]:
        with self._telling():
            return self._memory.tails(partitions, generation, most)

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        with self._telling():
            self._memory.put_revision(revision, document)

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        with self._telling() if place == self._place else nullcontext():
            return self._memory.revision(revision, place)

    def claim_topics(self, ids: Mapping[str, str], generation: int) -> Mapping[str, str | ForeignObjectError]:
        with self._telling():
            return self._memory.claim_topics(ids, generation)

    def record_loss(
        self, partition: TopicPartition, topic_id: str | None, start: Offset, end: Offset, cause: Cause
    ) -> None:
        with self._telling():
            self._memory.record_loss(partition, topic_id, start, end, cause)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except StorageError as error:
            self._on_failure(error)
            raise
