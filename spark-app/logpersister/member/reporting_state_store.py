"""A state store that reports each failure of the bucket: such a failure concerns no range, and stops all of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from logpersister.member.ports import NoteError, StateStore
from logpersister.plan.recovery import StoredTail
from logpersister.ranges import Cause, Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote


class ReportingStateStore:
    """A `StateStore` that passes every call on to another one, and reports what fails there."""

    def __init__(self, state_store: StateStore, place: str, on_failure: Callable[[StorageError], None]) -> None:
        self._state_store = state_store
        self._place = place
        """Ours: a failure in another place stops only the partitions that need that place."""
        self._on_failure = on_failure

    def stored_tails(
        self, partitions: Iterable[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        with self._reporting():
            return self._state_store.stored_tails(partitions, generation)

    def ahead(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError | None]:
        found = self._state_store.ahead(positions, generation)
        for error in {str(it): it for it in found.values() if isinstance(it, StorageError)}.values():
            self._on_failure(error)
        return found

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        with self._reporting():
            self._state_store.put_revision(revision, document)

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        with self._reporting() if place == self._place else nullcontext():
            return self._state_store.revision(revision, place)

    def bind_topics(self, notes: Mapping[str, TopicNote], generation: int) -> Mapping[str, TopicNote | NoteError]:
        found = self._state_store.bind_topics(notes, generation)
        for error in (it for it in found.values() if isinstance(it, StorageError)):
            self._on_failure(error)
        return found

    def first_note(self, topic: str, topic_id: str) -> TopicNote | None:
        with self._reporting():
            return self._state_store.first_note(topic, topic_id)

    def note_selection(self, selection: Mapping[str, Any], topics: Sequence[str]) -> Sequence[str]:
        with self._reporting():
            return self._state_store.note_selection(selection, topics)

    def record_loss(self, lost: Range, topic_id: str | None, cause: Cause) -> None:
        with self._reporting():
            self._state_store.record_loss(lost, topic_id, cause)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except StorageError as error:
            self._on_failure(error)
            raise
