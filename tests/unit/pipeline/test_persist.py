from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.persist import RangeWriter, TooManyRefusedError
from logpersister.pipeline.room import Room
from logpersister.records.checksum import PayloadChecksum
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import TypeLayout, layout_of
from logpersister.report.facts import Quarantined
from logpersister.storage.errors import StorageError
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import RowSchema
from tests.examples import examples
from tests.unit.pipeline.fakes import ROOM, FakeBucket, Lines, Modulo, records, work
from tests.unit.records.batches import batch_of


def writer_of(bucket: FakeBucket, folders: int = 1, room: Room = ROOM, end: int = 100) -> RangeWriter:
    layout: Any = Modulo(folders)
    return RangeWriter(work(0, end), TopicLayout.of_one_type(TypeLayout(layout)), Lines(), bucket.open_upload, room)


def write(writer: RangeWriter, *batches: list[int]) -> int:
    """Write batches in as many passes as it takes; return how many that were."""
    passes = 0
    while True:
        passes += 1
        for offsets in batches:
            writer.write(records(offsets))
        if not writer.end_pass():
            return passes


def test_an_object_has_its_records_in_order_and_says_what_it_holds() -> None:
    bucket = FakeBucket()
    writer = writer_of(bucket)
    write(writer, [3, 4, 9], [], [12])
    (written,) = writer.objects()
    assert bucket.objects == {"/0": b"3\n4\n-\n12\nend of "}
    checksum = PayloadChecksum()
    checksum.update(records([3, 4, 9, 12]))
    assert bucket.facts["/0"] == {
        "first": "3",
        "last": "12",
        "records": "4",
        "tombstones": "1",
        "checksum": checksum.text(),
        "payload": "4-0",
    }
    assert (written.key, written.bytes, written.records) == ("/0", len(bucket.objects["/0"]), 4)
    assert writer.counts.payload_bytes == 4


def test_a_range_without_records_makes_no_object() -> None:
    bucket = FakeBucket()
    writer = writer_of(bucket)
    assert write(writer) == 1
    assert write(writer, []) == 1
    assert writer.objects() == ()
    assert writer.ready


def test_what_has_no_room_is_written_in_further_passes() -> None:
    bucket = FakeBucket()
    folders = 23
    writer = writer_of(bucket, folders)
    assert write(writer, list(range(20)), list(range(20, 100))) > 2
    assert len(writer.objects()) == folders
    assert sorted(int(facts["first"]) for facts in bucket.facts.values()) == list(range(folders))
    assert sum(int(facts["records"]) for facts in bucket.facts.values()) == 100
    once = sum(len(str(offset)) for offset in range(100) if offset % 10 != 9)
    assert writer.counts.payload_bytes == once, "a further pass counts nothing again"


def test_adjusted_values_are_counted_once_whatever_the_passes() -> None:
    bucket = FakeBucket()
    parser = Parsing.model_validate({"type": "json", "faults": {"wrongType": "setNull", "duplicates": "last"}})
    fields = (FieldSpec(name="n", type="int32"), FieldSpec(name="m", type="string"))
    output = OutputSpec.model_validate({"partitionBy": [{"field": "m"}]})
    layout = TopicLayout.of_one_type(layout_of(output, parser, RowSchema(fields)))
    values: list[bytes | None] = [
        b'{"n": "x", "m": "%d"}' % (number % 23) if number % 2 else b'{"n": 1, "n": 2, "m": 7}' for number in range(100)
    ]
    values[3], values[4] = None, b'{"n": "x", "m":'
    writer = RangeWriter(work(0, 100), layout, Lines(), bucket.open_upload, ROOM)
    passes = 1
    writer.write(batch_of([0] * 100, values=values))
    while writer.end_pass():
        passes += 1
        writer.write(batch_of([0] * 100, values=values))
    assert passes > 2
    assert writer.counts.adjusted == {"wrong_type": 49 + 49, "duplicate": 49}
    assert sum(one.records for one in writer.objects()) == 100


@examples(60)
@given(st.integers(100, 5_000), st.integers(30, 6_000), st.integers(1, 60), st.lists(st.integers(1, 40), min_size=1))
def test_memory_stays_within_the_room_and_objects_do_not_depend_on_it(
    total: int, streamed: int, folders: int, lengths: list[int]
) -> None:
    count = sum(lengths)
    offsets = list(range(count))
    whole, bounded = FakeBucket(), FakeBucket()
    write(writer_of(whole, folders, Room(10**9, 10**9), count), offsets)
    room = Room(total, streamed)
    writer = writer_of(bounded, folders, room, count)
    passes = 1
    while True:
        begin = 0
        for length in lengths:
            writer.write(records(offsets[begin : begin + length]))
            begin += length
            assert writer.held_bytes <= room.for_rows(bounded.open)
            assert bounded.open <= 1 or bounded.open * streamed <= total
        if not writer.end_pass():
            break
        passes += 1
    assert bounded.objects == whole.objects
    assert bounded.facts == whole.facts
    assert passes <= folders


@pytest.mark.parametrize("lengths", [[6], [2, 4], [1] * 6], ids=str)
def test_what_the_parser_refuses_is_an_object_of_its_own_and_told(lengths: list[int]) -> None:
    values = [b"1", None, b"[", b"{}", b"", b"2"]
    bucket = FakeBucket()
    layout = TopicLayout.of_one_type(layout_of(OutputSpec(), Parsing(type="json")))
    writer = RangeWriter(work(), layout, Lines(), bucket.open_upload, ROOM)
    begin = 0
    for length in lengths:
        part = range(begin, begin + length)
        writer.write(batch_of([0] * length, [10 + row for row in part], values=[values[row] for row in part]))
        begin += length
    assert not writer.end_pass()
    assert bucket.objects == {"/0": b"1\n-\n{}\n2\nend of ", "_quarantine/0": b"[\n-\nend of _quarantine"}
    assert bucket.facts["_quarantine/0"].items() >= {"first": "12", "last": "14", "records": "2"}.items()
    assert sum(one.records for one in writer.objects()) == 6
    assert writer.quarantined() == Quarantined(
        "_quarantine/0", 2, 12, "not JSON: EOF while parsing a list at line 1 column 1"
    )


@pytest.mark.parametrize(("limit", "is_stored"), [(None, True), (100, True), (34, True), (33, False), (0, False)])
def test_a_range_of_which_too_much_is_refused_is_not_stored(limit: int | None, is_stored: bool) -> None:
    bucket = FakeBucket()
    layout = TopicLayout.of_one_type(layout_of(OutputSpec(), Parsing(type="json")))
    writer = RangeWriter(work(), layout, Lines(), bucket.open_upload, ROOM, limit)
    for begin in (0, 3):
        writer.write(batch_of([0] * 3, range(begin, begin + 3), values=[b"1", None, b"["]))
    if is_stored:
        assert not writer.end_pass()
        return
    with pytest.raises(TooManyRefusedError, match=r"refuses 2 of the 6 records of clicks-0\[0,100\), more than"):
        writer.end_pass()
    writer.abort()
    assert bucket.objects == {}


def test_giving_up_aborts_what_is_open_and_leaves_what_is_finished() -> None:
    bucket = FakeBucket()
    writer = writer_of(bucket, 2, Room(total=600, streamed=150))
    writer.write(records([*range(9)]))
    assert bucket.open == 2
    writer.abort()
    assert bucket.aborted == ["m=0/0", "m=1/0"]
    assert bucket.open == 0
    further = writer_of(bucket, 30)
    further.write(records([*range(30)]))
    assert further.end_pass()
    finished = len(bucket.objects)
    further.abort()
    assert 0 < len(bucket.objects) == finished


def test_the_first_error_of_the_bucket_is_the_error_of_the_range() -> None:
    bucket = FakeBucket()
    bucket.failing = {"m=1/0"}
    writer = writer_of(bucket, 3)
    write(writer, [0, 1, 2])
    with pytest.raises(StorageError, match="SlowDown"):
        writer.objects()
