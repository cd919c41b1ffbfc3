"""The newest event of a range: of which field, which times count, and that a range tells it."""

import json
import struct
from collections.abc import Sequence

import pyarrow as pa
import pytest

from logpersister.pipeline.event_times import EventTimes
from logpersister.pipeline.persist import RangeWriter
from logpersister.ranges import NewestEvent
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import layout_of
from tests.unit.manifest.documents import accepted
from tests.unit.pipeline.fakes import ROOM, FakeBucket, Lines, records, work
from tests.unit.records.batches import batch_of

SPEC = accepted(
    {
        "spec.value": {"json": {"fields": [{"name": "at", "type": "timestamp[s]", "format": "epoch[s]"}]}},
        "spec.output": {"jsonl": {}, "partitionBy": [{"date": {"granularity": "day", "field": "at"}}]},
        "spec.finish": {},
    }
).spec
NOW = 1_774_659_600


def newest(values: Sequence[object]) -> NewestEvent | None:
    """Return what is told of a range with these values of `at`, in seconds from now."""
    times = EventTimes.of(SPEC)
    assert times is not None
    times = EventTimes(times.digest, times.times, lambda: NOW + 0.5)
    layout = TopicLayout.of_one_type(layout_of(SPEC.output, SPEC.parser, SPEC.row_schema))
    writer = RangeWriter(work(0, len(values)), layout, Lines(), FakeBucket().open_upload, ROOM, event_times=times)
    documents = [
        {"at": one if isinstance(one, str) else NOW + int(str(one))} if one is not None else {} for one in values
    ]
    batch = records(range(len(values)))
    texts = pa.array([json.dumps(one).encode() for one in documents], pa.binary())
    for number in range(len(values)):
        writer.write(batch.set_column(batch.schema.get_field_index("value"), "value", texts).slice(number, 1))
    writer.end_pass()
    return writer.counts.newest


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([-5, -3, -4], -3),
        ([-5, None, 0], 0),
        ([-5, 1, 10**6], -5),
        (["no time", -9, "none"], -9),
        ([None, 5, "no time"], None),
    ],
)
def test_times_count_that_have_come_and_are_no_nonsense(values: list[object], expected: int | None) -> None:
    found = newest(values)
    assert (None if found is None else found.time) == (None if expected is None else (NOW + expected) * 1000)


def test_of_types_those_count_that_have_folders_by_the_time_of_all() -> None:
    """Frames have a timestamp of their own, and an entry without folders by date has no time to tell."""
    by_day = {"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]}
    frame = {"type": {"at": 0}, "timestamp": {"at": 4, "bytes": 8}, "body": {"lengthAt": 12}}
    entries = [{"names": ["1"], "output": by_day}, {"names": ["2"], "output": {"text": {}}}]
    spec = accepted({"spec.finish": {}, "spec.types": {"frame": frame, "entries": entries}}).spec
    times = EventTimes.of(spec)
    assert times is not None
    values = [struct.pack(">iqi", 1, at, 0) for at in (5_000, 9_000, (NOW + 60) * 1000)]
    batch = batch_of([0] * 3, range(3), values=values)
    now = EventTimes(times.digest, times.times, lambda: NOW)
    assert now.newest(batch, 0) == NewestEvent(times.digest, 9_000)
    assert now.newest(batch, 1) is None
    of_records = accepted(
        {"spec.finish": {"trigger": "record-time"}, "spec.types": {"frame": frame, "entries": entries}}
    )
    assert EventTimes.of(of_records.spec) is None, "Kafka tells it"
