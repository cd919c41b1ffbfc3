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

Produce = Callable[[str, bytes, bytes, Sequence[tuple[str, bytes]]], None]
"""Writes topic, key, value and headers; returns when all replicas in sync have the record. Raises NotDeliveredError."""


class NotDeliveredError(Exception):
    """A record that the topic does not have, or perhaps has: nobody has answered in time."""

    def __init__(self, message: str, *, is_refused: bool = False) -> None:
        """`is_refused`: brokers will never take this record."""
        super().__init__(message)
        self.is_refused = is_refused


@contextmanager
def producing(config: Mapping[str, Any]) -> Iterator[Produce]:
    """Connect, by what `client_config` gives. Raises NotDeliveredError when no broker answers."""
    clients: list[Any] = []

    def client(**settings: Any) -> Any:
        clients.append(KafkaNetClient(**settings))
        return clients[-1]

    ours = {
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
        producer = KafkaProducer(**{**config, **ours})
    except BaseException as error:
        for one in clients:  # else its thread goes on trying for as long as the process lives
            one.close()
        if isinstance(error, errors.KafkaError):
            raise NotDeliveredError(in_words(error)) from None
        raise

    def produce(topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]]) -> None:
        try:
            producer.send(topic, value, key, list(headers)).get(timeout=DELIVERY_SECONDS + BOOTSTRAP_SECONDS)
        except (errors.MessageSizeTooLargeError, errors.RecordListTooLargeError) as error:
            raise NotDeliveredError(in_words(error), is_refused=True) from None
        except errors.KafkaError as error:
            raise NotDeliveredError(in_words(error)) from None

    try:
        yield produce
    finally:
        producer.close(timeout=BOOTSTRAP_SECONDS)
