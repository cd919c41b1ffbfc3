"""The record, in the bucket, of ranges that will never be stored: Kafka lost them, or a user skipped them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from logpersister.ranges import Cause, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.names import loss_key, losses_prefix
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets of one partition that are in no object, and why."""

    range: Range
    topic_id: str | None
    cause: Cause
    generation: int
    revision: str

    def document(self) -> dict[str, Any]:
        return {
            "topic": self.range.partition.topic,
            "partition": self.range.partition.partition,
            "start": self.range.start,
            "end": self.range.end,
            "topicId": self.topic_id,
            "cause": self.cause,
            "generation": self.generation,
            "revision": self.revision,
        }


def record_loss(store: ObjectStore, group: str, loss: Loss) -> str:
    """Store a loss and return its key; the same loss again replaces itself. Raises StorageError."""
    key = loss_key(store.prefix, group, loss.range, loss.topic_id)
    store.put_json(key, loss.document())
    return key


def list_losses(store: ObjectStore, group: str) -> Iterator[Loss]:
    """Yield all recorded losses of a group, by topic, partition (as text) and start. Raises StorageError."""
    for listed in store.list_objects(losses_prefix(store.prefix, group)):
        document = store.get_json(listed.key)
        if document is not None:
            yield _parsed(listed.key, document)


def _parsed(key: str, document: dict[str, Any]) -> Loss:
    try:
        partition = TopicPartition(str(document["topic"]), int(document["partition"]))
        cause: Cause = "lost" if document["cause"] == "lost" else "skipped"
        return Loss(
            range=Range(partition, int(document["start"]), int(document["end"])),
            topic_id=None if document["topicId"] is None else str(document["topicId"]),
            cause=cause,
            generation=int(document["generation"]),
            revision=str(document["revision"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            "damaged", f"object {key!r} is not a record of a loss ({error}); see who changed it"
        ) from None
