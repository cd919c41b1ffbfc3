"""Writes a shop's clicks and orders to Kafka: sample data for manifests like ``clicks.yaml``.

``python -m examples.produce_clicks --bootstrap 127.0.0.1:9092`` creates the topics ``clicks`` and ``orders`` and fills
them with two days of JSON; with ``--live 200`` it then goes on with 200 clicks a second until Ctrl-C.
"""

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient
from kafka.errors import TopicAlreadyExistsError

CLICKS_PARTITIONS = 4
ORDERS_PARTITIONS = 3
MILLISECONDS_A_DAY = 24 * 3600 * 1000

_PAGES = ("/", "/search", "/cart", "/checkout", "/help", *(f"/product/{number}" for number in range(1, 40)))
COUNTRIES = ("DE", "FR", "JP", "BR", "IN", "US", "KE", "AU")
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X)",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/142.0",
)
_STATES = ("placed", "paid", "shipped", "delivered")
_CANCELLED = 0.03
"""Share of orders that end with a tombstone: a record without a value, which deletes its key."""

_CLICKS_AN_ORDER = 6


@dataclass(frozen=True, slots=True)
class Event:
    """One record to write."""

    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    """Milliseconds since the epoch."""


def click(chance: random.Random, timestamp: int) -> Event:
    """Return one page view; one in ten visitors is unknown and has no key."""
    visitor = f"v{chance.randrange(5_000):05d}"
    body = {
        "at": timestamp,
        "visitor": visitor,
        "page": chance.choice(_PAGES),
        "country": chance.choice(COUNTRIES),
        "ms": int(chance.lognormvariate(4.5, 0.6)),
        "agent": chance.choice(_AGENTS),
    }
    return Event("clicks", None if chance.random() < 0.1 else visitor.encode(), _json(body), timestamp)


def order(chance: random.Random, timestamp: int) -> Event:
    """Return a change of an order, or the tombstone of a cancelled one; the key is the order's number."""
    number = f"o{chance.randrange(20_000):06d}"
    if chance.random() < _CANCELLED:
        return Event("orders", number.encode(), None, timestamp)
    items = [
        {"product": chance.randrange(1, 40), "quantity": chance.randrange(1, 4), "cents": chance.randrange(199, 9_999)}
        for _ in range(chance.randrange(1, 5))
    ]
    body = {"order": number, "at": timestamp, "state": chance.choice(_STATES), "items": items}
    return Event("orders", number.encode(), _json(body), timestamp)


def history(count: int, *, until: int, days: float, seed: int = 1) -> Iterator[Event]:
    """Yield ``count`` events in the order of their timestamps, spread over the ``days`` before ``until`` (ms)."""
    chance = random.Random(seed)
    span = days * MILLISECONDS_A_DAY
    for number in range(count):
        timestamp = int(until - span + span * number / count)
        yield order(chance, timestamp) if number % (_CLICKS_AN_ORDER + 1) == 0 else click(chance, timestamp)


def create_topics(bootstrap: str) -> None:
    """Create both topics unless they are there."""
    wanted = {"clicks": CLICKS_PARTITIONS, "orders": ORDERS_PARTITIONS}
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        for name, partitions in wanted.items():
            try:
                admin.create_topics({name: {"num_partitions": partitions}}, wait_for_metadata=True)
            except TopicAlreadyExistsError:
                continue


def write(bootstrap: str, events: Iterable[Event]) -> int:
    """Write the events, wait until the broker has them, return how many there were."""
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="zstd", batch_size=256 * 1024, linger_ms=20)
    written = 0
    try:
        for event in events:
            producer.send(event.topic, key=event.key, value=event.value, timestamp_ms=event.timestamp)
            written += 1
        producer.flush()
    finally:
        producer.close()
    return written


def live(rate: float, seed: int = 2) -> Iterator[Event]:
    """Yield clicks and orders of now, ``rate`` a second, without end."""
    chance = random.Random(seed)
    began = time.monotonic()
    for number in itertools.count():
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        now = time.time_ns() // 1_000_000
        yield order(chance, now) if number % (_CLICKS_AN_ORDER + 1) == 0 else click(chance, now)


def _json(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def main() -> int:
    """Fill the topics, and keep them moving when asked to."""
    parser = argparse.ArgumentParser(description="Write sample clicks and orders to Kafka.")
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", help="HOST:PORT of a broker (default %(default)s)")
    parser.add_argument("--records", type=int, default=70_000, help="of the past (default %(default)s)")
    parser.add_argument("--days", type=float, default=2.0, help="that they are spread over (default %(default)s)")
    parser.add_argument("--live", type=float, metavar="RATE", help="then go on with RATE records a second")
    arguments = parser.parse_args()

    create_topics(arguments.bootstrap)
    now = time.time_ns() // 1_000_000
    written = write(arguments.bootstrap, history(arguments.records, until=now, days=arguments.days))
    print(f"wrote {written:,} records to the topics clicks and orders")
    if arguments.live:
        print(f"going on with {arguments.live:g} records a second; Ctrl-C ends it", flush=True)
        try:
            write(arguments.bootstrap, live(arguments.live))
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
