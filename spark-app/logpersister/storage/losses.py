"""The record, in the bucket, of ranges that will never be stored: Kafka lost them, or a user skipped them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from logpersister.ranges import Cause, Range
from logpersister.storage.names import LOSSES, loss_key, notes_prefix
from logpersister.storage.notes import Notes, written
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets of one partition that are in no object, and why."""

    range: Range
    topic_id: str | None
    cause: Cause
    generation: int
    revision: str


_NOTES: Final = Notes(Loss, "a record of a loss")


def record_loss(store: ObjectStore, group: str, loss: Loss) -> str:
    """Store a loss and return its key; the same loss again replaces itself. Raises StorageError."""
    key = loss_key(store.prefix, group, loss.range, loss.topic_id)
    store.put_json(key, written(loss))
    return key


def list_losses(store: ObjectStore, group: str) -> Iterator[Loss]:
    """Yield all recorded losses of a group, by topic, partition (as text) and start. Raises StorageError."""
    return _NOTES.below(store, notes_prefix(store.prefix, group, LOSSES))
