"""Topics that are hard to read: transactions in each other, compaction."""

import time

from tests.integration.harness.waiting import eventually
from tests.stack.topics import Record, alter_topic, produce, read_all, transaction


def write_transactions(bootstrap: str, topic: str, *, rounds: int = 6) -> None:
    """Committed and aborted transactions, of one and of several producers at once, between other records.

    Six rounds leave 880 of 1420 records committed.
    """

    def some(what: str, count: int) -> list[Record]:
        return [
            Record(
                f"{what} {number}".encode() * 20, f"{number}".encode(), timestamp=1_000 + number, headers=[("h", b"")]
            )
            for number in range(count)
        ]

    produce(bootstrap, topic, some("before", 50))
    for round_number in range(rounds):
        with transaction(bootstrap, f"{topic}-a") as first, transaction(bootstrap, f"{topic}-b") as second:
            for part in range(3):
                first.produce(topic, some(f"first {round_number} {part}", 40))
                second.produce(topic, some(f"second {round_number} {part}", 30))
            produce(bootstrap, topic, some(f"between {round_number}", 10))
            if round_number % 2:
                first.abort()
            if round_number % 3 == 0:
                second.abort()
    produce(bootstrap, topic, some("after", 50), compression="gzip")


def write_compacted(bootstrap: str, topic: str, *, padding: bytes = b"") -> None:
    """Write a topic (``cleanup.policy=compact``) and wait until compaction left holes in it.

    The broker must have a short ``log.cleaner.backoff.ms``.
    """
    alter_topic(
        bootstrap, topic, {"segment.ms": "100", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "0"}
    )
    for round_number in range(8):
        written = [
            Record(
                None if number % 11 == 0 else f"{round_number} {number}".encode() * 5 + padding,
                f"{number % 37}".encode(),
            )
            for number in range(200)
        ]
        produce(bootstrap, topic, written, batch_size=2_000)
        time.sleep(0.15)  # older than segment.ms, so that the next write begins a new segment

    eventually("the topic is compacted", lambda: len(read_all(bootstrap, topic)[0]) < 500)
