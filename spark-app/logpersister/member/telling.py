"""The group's memory, which tells whenever the bucket fails it: such failures concern no range, and stop them all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from logpersister.member.ports import Memory, NoteError
from logpersister.plan.recovery import StoredTail
from logpersister.ranges import Cause, Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote


class TellingMemory:
    """A `Memory` that does what another one does."""

    def __init__(self, memory: Memory, place: str, on_failure: Callable[[StorageError], None]) -> None:
        self._memory = memory
        self._place = place
        """Ours: what fails in another one stops only who needs that."""
        self._on_failure = on_failure

    def stored_tails(
        self, partitions: Iterable[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        with self._telling():
            return self._memory.stored_tails(partitions, generation)

    def ahead(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError | None]:
        found = self._memory.ahead(positions, generation)
        for error in {str(it): it for it in found.values() if isinstance(it, StorageError)}.values():
            self._on_failure(error)
        return found

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        with self._telling():
            self._memory.put_revision(revision, document)

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        with self._telling() if place == self._place else nullcontext():
            return self._memory.revision(revision, place)

    def claim_topics(self, notes: Mapping[str, TopicNote], generation: int) -> Mapping[str, TopicNote | NoteError]:
        found = self._memory.claim_topics(notes, generation)
        for error in (it for it in found.values() if isinstance(it, StorageError)):
            self._on_failure(error)
        return found

    def first_note(self, topic: str, topic_id: str) -> TopicNote | None:
        with self._telling():
            return self._memory.first_note(topic, topic_id)

    def note_selection(self, selection: Mapping[str, Any], topics: Sequence[str]) -> Sequence[str]:
        with self._telling():
            return self._memory.note_selection(selection, topics)

    def record_loss(self, lost: Range, topic_id: str | None, cause: Cause) -> None:
        with self._telling():
            self._memory.record_loss(lost, topic_id, cause)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except StorageError as error:
            self._on_failure(error)
            raise
