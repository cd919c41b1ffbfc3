"""Records that are sent in order without waiting for each: what is answered is told in the order of sending."""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Self

from kafka import errors

from logpersister.kafka_client.causes import in_words
from logpersister.kafka_client.producer import BOOTSTRAP_SECONDS, REFUSED, NotDeliveredError, connected

DELIVERY_SECONDS: Final = 120.0
"""Seconds after which a record counts as not delivered, so all after it, too."""
LINGER_MILLISECONDS: Final = 20
BATCH_BYTES: Final = 256 * 1024
"""A request for each record would cost more than the record. Brokers that take less get batches split."""
_SPARE_BYTES: Final = 64 * 1024
"""Headers and key of a record, beside its value."""


class Stream:
    """An idempotent producer of one topic. For one thread, except for `settled` events."""

    def __init__(
        self, config: Mapping[str, Any], topic: str, largest: int, on_answer: Callable[[], object] = lambda: None
    ) -> None:
        """Connect, by what `client_config` gives. Raises NotDeliveredError when no broker answers.

        Args:
            config: settings of clients.
            topic: to which records go.
            largest: bytes of the largest value.
            on_answer: called on another thread when `settled` may have something.
        """
        self._producer = connected(
            config,
            max_request_size=largest + _SPARE_BYTES,
            delivery_timeout_ms=int(DELIVERY_SECONDS * 1000),
            linger_ms=LINGER_MILLISECONDS,
            batch_size=BATCH_BYTES,
        )
        self._topic = topic
        self._on_answer = on_answer
        self._sent: deque[tuple[int, int, float, Any]] = deque()
        """Number, bytes, when it was sent, and the library's future, or the error by which it refuses a record."""
        self.bytes = 0
        """Bytes of values that are not answered yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def waits_since(self) -> float | None:
        """When the oldest record was sent that is not answered; monotonic seconds."""
        return self._sent[0][2] if self._sent else None

    def send(self, number: int, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]], timestamp: int) -> None:
        """Send a record; `number` is how `settled` calls it. Raises NotDeliveredError."""
        try:
            future = self._producer.send(self._topic, value, key, list(headers), timestamp_ms=timestamp)
        except REFUSED as error:
            future = error
        except errors.KafkaError as error:
            raise NotDeliveredError(in_words(error)) from None
        else:
            future.add_both(lambda *_: self._on_answer())
        self._sent.append((number, len(value), time.monotonic(), future))
        self.bytes += len(value)

    def settled(self) -> Iterator[tuple[int, str | None]]:
        """Yield the numbers of records that are answered, oldest first, and why brokers never take one.

        Raises NotDeliveredError for one that did not arrive, or perhaps did; it and all after it are to be sent again.
        """
        while self._sent:
            number, size, _, future = self._sent[0]
            error = future if isinstance(future, Exception) else None
            if error is None:
                if not future.is_done:
                    return
                error = future.exception if future.failed() else None
            if error is not None and not isinstance(error, REFUSED):
                raise NotDeliveredError(in_words(error)) from None
            self._sent.popleft()
            self.bytes -= size
            yield number, None if error is None else in_words(error)

    def close(self) -> None:
        """End at once; what is not answered is nobody's any more."""
        timeout = 0.0 if self._sent else BOOTSTRAP_SECONDS
        with suppress(errors.KafkaError):
            self._producer.close(timeout=timeout)
