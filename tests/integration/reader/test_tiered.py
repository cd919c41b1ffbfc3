"""Tiered storage that takes its time, and what the broker says meanwhile of the partitions beside."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from logpersister.pipeline.reader import ReaderSettings, ReadRequest
from logpersister.ranges import Range, TopicPartition
from tests.integration.harness.waiting import eventually
from tests.integration.reader.reading import MakeTopic, Open, read_records
from tests.stack import KafkaBroker
from tests.stack.topics import produce

LARGE = 300_000
"""Bytes of a record batch: more than is asked for a range that is thought to be small."""
TIERED = {"remote_storage_enable": "true", "segment_bytes": "1048576", "local_retention_bytes": "1"}
FETCHES = 10
"""Answers without anything: more than the reader needs to take a range for empty."""


def test_a_partition_beside_one_that_waits_for_its_storage_is_not_taken_for_empty(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, tiers: Path
) -> None:
    """The broker takes the room of the one for used, and then keeps back a first batch that is larger than its part."""
    slow, beside = topic(**TIERED), topic()
    for _ in range(3):
        produce(kafka.bootstrap, slow, [os.urandom(1000)] * 600)
    produce(kafka.bootstrap, beside, [os.urandom(LARGE)] * 2)
    first = kafka.directory / "data" / f"{slow}-0" / f"{0:020d}.log"
    eventually("the broker itself has the begin no longer", lambda: not first.exists())
    wanted = [ReadRequest(Range(TopicPartition(name, 0), 0, 2), 1) for name in (slow, beside)]
    # Without pauses both are always asked for together; the broker holds each request for half a second.
    reader = open_reader(ReaderSettings(backoff=0))
    with _stuck(next(tiers.rglob(f"{slow}-0-*/{0:020d}-*.log")), until=lambda: reader.stats.fetches >= FETCHES):
        found = read_records(reader, wanted)
    assert [len(found[one.range]) for one in wanted] == [2, 2]
    assert reader.stats.retries["no-records"] >= FETCHES // 2


@contextmanager
def _stuck(segment: Path, until: Callable[[], bool]) -> Iterator[None]:
    """Let nobody read a segment of tiered storage until something has happened: who opens it waits."""
    whole, pipe = segment.with_suffix(".whole"), segment.with_suffix(".pipe")
    segment.rename(whole)
    os.mkfifo(pipe)
    segment.hardlink_to(pipe)

    def release() -> None:
        try:
            eventually("the partitions were asked for again and again", until)
        finally:
            whole.replace(segment)
            os.close(os.open(pipe, os.O_RDWR))  # who waits goes on, and finds nothing

    releasing = threading.Thread(target=release)
    releasing.start()
    try:
        yield
    finally:
        releasing.join()
