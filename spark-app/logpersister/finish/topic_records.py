"""Notifies a topic of folders: one record each, whose key is the folder, so that compaction keeps the last number."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from logpersister.finish.telling import Message, NotTakenError, RefusedError, Send
from logpersister.kafka_client.producer import NotDeliveredError, Produce, producing


@dataclass(frozen=True, slots=True)
class TopicRecords:
    """Topic of ``spec.finish.kafka`` as a recipient. Thread-safe."""

    config: Mapping[str, Any]
    topic: str

    policy = "kafka"

    @contextmanager
    def session(self) -> Iterator[Send]:
        """Connect a producer. Raises NotTakenError."""
        try:
            with producing(self.config) as produce:
                yield lambda message: self._send(produce, message)
        except NotDeliveredError as error:
            raise self._failed(error) from None

    def _send(self, produce: Produce, message: Message) -> None:
        headers = [("id", message.id.encode()), ("number", str(message.number).encode())]
        try:
            produce(self.topic, message.key.encode(), message.body, headers)
        except NotDeliveredError as error:
            raise self._failed(error) from None

    def _failed(self, error: NotDeliveredError) -> NotTakenError:
        if error.is_refused:
            return RefusedError(f"topic {self.topic}: {error}; see its max.message.bytes")
        return NotTakenError(f"topic {self.topic}: {error}; it must exist, and who logs in may write to it")
