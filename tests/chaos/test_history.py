"""What a reader of the documents finds, and what is in a backup, judged without the product."""

import gzip
import json
import time
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any, cast
from unittest.mock import Mock

import pytest
from kafka.record import MemoryRecordsBuilder

from tests.chaos.check import EMPTY, Row, Stored, digest
from tests.chaos.choices import Choices
from tests.chaos.commands import Command
from tests.chaos.current import CurrentWatch, counts
from tests.chaos.deck import deal
from tests.chaos.history import HistoryReplay, Restore
from tests.chaos.settings import Settings
from tests.chaos.witnesses import record_batches, within

REPLAYED = {"replays": {"2": {"0": [10, 30]}}, "partitions": {}}
SWITCHED = {**REPLAYED, "partitions": {"0": [{"start": 10, "end": 30, "generation": 2}]}}
CURRENT = "text/_logpersister/text/current/a.json"
OBJECTS = {"1_0_10": 2, "1_0_20": 1, "1_0_30": 9, "2_0_10": 3}
"""Names with their numbers of records; what lies behind the replay is none of it."""


class Bucket(Mock):
    """As much of a client as a watch needs."""

    files: Mapping[str, bytes]

    class exceptions:  # noqa: N801 - as boto3 has it
        NoSuchKey = KeyError

    def get_object(self, **of: str) -> Any:
        return {"Body": BytesIO(self.files[of["Key"]])}

    def get_paginator(self, _: str) -> Any:
        keys = [{"Key": key} for key in self.files if "_logpersister" not in key]
        return Mock(paginate=lambda **_: [{"Contents": keys}])


def bucket(objects: Mapping[str, int], document: Any) -> Bucket:
    def key(name: str) -> str:
        generation, partition, start = name.split("_")
        return f"text/a/dt=2026-11-29/{generation}_{partition}_{int(start):020}.txt.gz"

    files = {key(name): gzip.compress(b"x\n" * records) for name, records in objects.items()}
    return Bucket(files={**files, CURRENT: json.dumps(document).encode()})


def test_an_object_counts_as_the_document_says() -> None:
    ours = [(1, 0, 10), (2, 0, 10), (1, 0, 30), (2, 0, 30), (2, 1, 10), (3, 0, 10)]
    assert [counts(REPLAYED, *one) for one in ours] == [True, False, True, True, True, True]
    assert [counts(SWITCHED, *one) for one in ours] == [False, True, True, True, True, False]


@pytest.mark.parametrize(
    ("then", "document", "broken"),
    [
        (OBJECTS, REPLAYED, 0),
        (OBJECTS, SWITCHED, 0),
        (OBJECTS | {"2_0_10": 2}, SWITCHED, 1),  # before all is stored
        (OBJECTS | {"2_0_20": 1}, SWITCHED, 1),
        ({"1_0_10": 2}, REPLAYED, 1),
    ],
)
def test_a_reader_finds_as_much_at_each_look(then: Mapping[str, int], document: Any, broken: int) -> None:
    client = bucket(OBJECTS, REPLAYED)
    watch = CurrentWatch(cast("Any", client), "chaos", "text", ["a", "none"])
    watch.look()
    client.files = bucket(then, document).files
    watch._records.clear()
    watch.look()
    assert len(watch.broken) == broken


def test_record_batches_are_read_within_their_range() -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=1, batch_size=1 << 20)
    for offset in range(3):
        builder.append(timestamp=offset, key=None, value=None if offset == 1 else b"v", headers=[])
    builder.close()
    content = bytes(builder.buffer())
    rows = [Row(digest(b"v"), 0, 0), Row(EMPTY, 1, 1), Row(digest(b"v"), 2, 2)]
    assert record_batches("a", "", content).rows == rows
    with pytest.raises(ValueError, match="whole batch"):
        record_batches("a", "", content[:-1])
    objects = [Stored(f"{start}", "a", 0, 1, start, "", rows) for start in (2, 0)]
    assert [one.rows for one in within(objects)] == [rows[2:], rows[:2]]


def test_a_command_is_killed_after_its_first_change(tmp_path: Any) -> None:
    def ended(command: list[str], *, kill_after: float | None, changes: bool = True) -> Command:
        running = Command(Mock(directory=tmp_path), command, lambda: changes, kill_after=kill_after)
        until = time.monotonic() + 30
        while not running.ended():
            assert time.monotonic() < until
        return running

    assert ended(["sleep", "60"], kill_after=0.0).was_killed
    assert ended(["false"], kill_after=None).code == 1
    assert not ended(["true"], kill_after=0.0, changes=False).was_killed


def test_history_is_dealt_early_where_there_is_a_backup() -> None:
    def dealt(files: Any) -> Iterator[object]:
        settings = Settings(7, seconds=300, choices=Choices(files=files))
        return (type(disturbance) for _, disturbance in islice(deal(settings), 20))

    assert {HistoryReplay, Restore} <= set(dealt("kafka"))
    assert not {HistoryReplay, Restore} & set(dealt("sequencefile"))
