"""Ranges of which records are left out: the objects, the count, and the note of a range of which nothing stays."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.compiled.formats import formats_of
from logpersister.compiled.topic import CompiledTopic
from logpersister.manifest.spec import Spec
from logpersister.pipeline.persist import RangeWriter
from logpersister.pipeline.room import Room
from logpersister.pipeline.task import Task, TaskResources
from logpersister.pipeline.task_resources import LeftOutNotes
from logpersister.pipeline.work import RangeOutcome
from logpersister.ranges import Range
from logpersister.records.topic_layout import layout_for
from logpersister.storage.errors import StorageError
from logpersister.storage.left_out import LeftOutRange, list_left_out
from tests.examples import examples
from tests.unit.formats.samples import Record, batch, cut
from tests.unit.manifest.conditions import on
from tests.unit.manifest.documents import spec_with
from tests.unit.pipeline.fakes import CLICKS, FakeBucket, FakeReader, work
from tests.unit.replay.bucket import Bucket

FIELDS = [{"name": "country", "type": "string"}, {"name": "n", "type": "int64"}]
VALUE = {"json": {"fields": FIELDS}}
BY_COUNTRY = [{"field": "country", "prefix": "of="}]
KEEP = [on("country", **{"in": ["DE", "FR"]}), on("n", atLeast=3, orAbsent=True)]


def spec_of(
    keep: Sequence[dict[str, Any]] = KEEP, value: Mapping[str, Any] = VALUE, levels: Sequence[Any] = BY_COUNTRY
) -> Spec:
    output = {"parquet": {"kafkaColumns": ["offset"]}, "partitionBy": list(levels)}
    return spec_with(value=value, output=output, keep=list(keep))


def writer_of(spec: Spec, room: Room, bucket: FakeBucket, hold_above: int | None = None) -> RangeWriter:
    layout, file_format = layout_for(spec, lambda _: None), formats_of(spec)
    return RangeWriter(work(0, 10_000), layout, file_format, bucket.open_upload, room, hold_above)


def written(batches: Sequence[pa.RecordBatch], room: Room) -> tuple[FakeBucket, RangeWriter]:
    bucket = FakeBucket()
    writer = writer_of(spec_of(), room, bucket)
    while True:
        for one in batches:
            writer.write(one)
        if not writer.end_pass():
            return bucket, writer


DOCUMENTS = st.fixed_dictionaries(
    {}, optional={"country": st.sampled_from([None, "DE", "FR", "US"]), "n": st.sampled_from([None, 1, 3, "no number"])}
)


@pytest.mark.slow
@examples(60)
@given(
    st.lists(st.none() | DOCUMENTS, min_size=1, max_size=60),
    st.lists(st.integers(0, 60), max_size=5),
    st.integers(400, 20_000),
)
def test_objects_and_counts_depend_on_the_records_only(
    documents: list[dict[str, Any] | None], cuts: list[int], total: int
) -> None:
    values = [None if one is None else json.dumps(one).encode() for one in documents]
    whole = batch([Record(offset, 0, b"k", value) for offset, value in enumerate(values)])
    at_once, one = written([whole], Room(10**9, 10**9))
    in_pieces, other = written(cut(whole, cuts), Room(total, total // 3))
    assert (at_once.objects, at_once.facts) == (in_pieces.objects, in_pieces.facts)
    expected = [_place(document) for document in documents]
    found = {key.rpartition("/")[0]: int(facts["records"]) for key, facts in at_once.facts.items()}
    assert found == {path: expected.count(path) for path in expected if path is not None}
    assert one.counts.dropped == other.counts.dropped == expected.count(None)
    assert one.is_left_out == other.is_left_out == (set(expected) == {None})


def _place(document: dict[str, Any] | None) -> str | None:
    """Return the folder of a record, by plain Python; None: it is left out."""
    if document is None:
        return None  # a tombstone has no country
    n = document.get("n")
    if isinstance(n, str):
        return "_quarantine"
    is_kept = document.get("country") in ("DE", "FR") and (n is None or n >= 3)
    return f"of={document['country']}" if is_kept else None


NOTES = LeftOutNotes(Bucket().store, "backup", "abcdef123456")


def outcomes(
    bucket: Bucket, uploads: FakeBucket, keep: Sequence[dict[str, Any]], *ranges: tuple[int, int], **more: Any
) -> list[RangeOutcome]:
    """Execute ranges whose values are their offsets, as text; every tenth is a tombstone."""
    found = spec_of(keep, {"regex": {"pattern": "(?P<n>[0-9]+)", "fields": FIELDS[1:]}}, [])
    topic = CompiledTopic(found, lambda _: None)
    notes = replace(NOTES, store=bucket.store)
    room = Room(10**9, 10**9)
    resources = TaskResources(FakeReader(), topic, uploads.open_upload, room, leave_note=notes.leave, **more)
    return list(Task([work(*one) for one in ranges], resources).outcomes())


def test_a_range_of_which_nothing_is_stored_leaves_a_note() -> None:
    bucket, uploads = Bucket(), FakeBucket()
    found = outcomes(bucket, uploads, [on("n", atLeast=15)], (0, 10), (10, 20), (20, 30))
    assert {one.range.start: (one.dropped, one.records, one.error) for one in found} == {
        0: (10, 0, None), 10: (6, 4, None), 20: (1, 9, None)
    }  # fmt: skip
    assert sorted(uploads.objects) == ["/10", "/20"]
    (key,) = bucket.objects
    assert key == "raw/_logpersister/backup/left-out/clicks/1_0_00000000000000000000.json"
    assert list(list_left_out(bucket.store, "backup", "clicks")) == [
        LeftOutRange(Range(CLICKS, 0, 10), "id", 1, "abcdef123456", 10)
    ]


def test_without_its_note_a_range_does_not_count_as_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket()

    def refuse(*_: Any, **__: Any) -> None:
        raise StorageError("throttled", "SlowDown")

    monkeypatch.setattr(bucket, "put_json", refuse)
    first, other = outcomes(bucket, FakeBucket(), [on("n", atLeast=15)], (0, 10), (20, 30))
    errors = {one.range.start: None if one.error is None else one.error.kind for one in (first, other)}
    assert errors == {0: "throttled", 20: None}
