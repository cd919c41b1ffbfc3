"""A producer for a few records that must arrive, which leaves nothing behind when no broker answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from kafka import KafkaProducer, errors
from kafka.net.compat import KafkaNetClient

from logpersister.kafka_client.causes import in_words

BOOTSTRAP_SECONDS: Final = 10.0
DELIVERY_SECONDS: Final = 30.0
"""Seconds after which a record counts as not delivered."""

REFUSED: Final = (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError, errors.InvalidRecordError)
"""Errors by which brokers say that they will never take a record."""

Produce = Callable[[str, bytes, bytes, Sequence[tuple[str, bytes]]], None]
"""Writes topic, key, value and headers; returns when all replicas in sync have the record. Raises NotDeliveredError."""


class NotDeliveredError(Exception):
    """A record that the topic does not have, or perhaps has: nobody has answered in time."""

    def __init__(self, message: str, *, is_refused: bool = False) -> None:
        """`is_refused`: brokers will never take this record."""
        super().__init__(message)
        self.is_refused = is_refused


def connected(config: Mapping[str, Any], **settings: Any) -> KafkaProducer:
    """Connect an idempotent producer, by what `client_config` gives; raises NotDeliveredError when nobody answers."""
    clients: list[Any] = []

    def client(**settings: Any) -> Any:
        clients.append(KafkaNetClient(**settings))
        return clients[-1]

    ours: dict[str, Any] = {
        "kafka_client": client,
        "acks": "all",
        "enable_idempotence": True,
        "allow_auto_create_topics": False,
        "bootstrap_timeout_ms": int(BOOTSTRAP_SECONDS * 1000),
        "max_block_ms": int(BOOTSTRAP_SECONDS * 1000),
        "request_timeout_ms": int(DELIVERY_SECONDS * 500),
        "delivery_timeout_ms": int(DELIVERY_SECONDS * 1000),
    }
    try:
        return KafkaProducer(**{**config, **ours, **settings})
    except BaseException as error:
        for one in clients:  # else its thread goes on trying for as long as the process lives
            one.close()
        if isinstance(error, errors.KafkaError):
            raise NotDeliveredError(in_words(error)) from None
        raise


def partitions_of(config: Mapping[str, Any], topic: str, seconds: float) -> int:
    """Return the number of partitions of a topic that may be written to; raises NotDeliveredError without one."""
    milliseconds = int(seconds * 1000)
    producer = connected(config, bootstrap_timeout_ms=milliseconds, max_block_ms=milliseconds)
    try:
        return len(producer.partitions_for(topic) or ())
    except errors.KafkaError as error:
        raise NotDeliveredError(in_words(error)) from None
    finally:
        producer.close(timeout=BOOTSTRAP_SECONDS)


@contextmanager
def producing(config: Mapping[str, Any]) -> Iterator[Produce]:
    """Connect, by what `client_config` gives. Raises NotDeliveredError when no broker answers."""
    producer = connected(config)

    def produce(topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]]) -> None:
        try:
            producer.send(topic, value, key, list(headers)).get(timeout=DELIVERY_SECONDS + BOOTSTRAP_SECONDS)
        except REFUSED as error:
            raise NotDeliveredError(in_words(error), is_refused=True) from None
        except errors.KafkaError as error:
            raise NotDeliveredError(in_words(error)) from None

    try:
        yield produce
    finally:
        producer.close(timeout=BOOTSTRAP_SECONDS)
