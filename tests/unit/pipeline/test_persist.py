from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.pipeline.persist import MOST_OPEN_OBJECTS, RangeWriter
from logpersister.records.checksum import PayloadChecksum
from logpersister.storage.errors import StorageError
from tests.unit.pipeline.fakes import FakeBucket, Lines, Modulo, records, work


def writer_of(bucket: FakeBucket, folders: int = 1) -> RangeWriter:
    layout: Any = Modulo(folders)
    return RangeWriter(work(), layout, Lines(), bucket.open_upload)


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
    assert writer.payload_bytes == 4


def test_a_range_without_records_makes_no_object() -> None:
    bucket = FakeBucket()
    writer = writer_of(bucket)
    assert write(writer) == 1
    assert write(writer, []) == 1
    assert writer.objects() == ()
    assert writer.ready


def test_more_paths_than_may_be_open_are_written_in_further_passes() -> None:
    bucket = FakeBucket()
    folders = 2 * MOST_OPEN_OBJECTS + 3
    writer = writer_of(bucket, folders)
    assert write(writer, list(range(20)), list(range(20, 100))) == 3
    assert bucket.most_open == MOST_OPEN_OBJECTS
    assert len(writer.objects()) == folders
    assert sorted(int(facts["first"]) for facts in bucket.facts.values()) == list(range(folders))
    assert sum(int(facts["records"]) for facts in bucket.facts.values()) == 100
    once = sum(len(str(offset)) for offset in range(100) if offset % 10 != 9)
    assert writer.payload_bytes == once, "a further pass counts nothing again"


@given(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.integers(1, 20))
def test_objects_do_not_depend_on_how_records_arrive(lengths: list[int], folders: int) -> None:
    offsets = list(range(sum(lengths)))
    whole, cut = FakeBucket(), FakeBucket()
    write(writer_of(whole, folders), offsets)
    batches, begin = [], 0
    for length in lengths:
        batches.append(offsets[begin : begin + length])
        begin += length
    write(writer_of(cut, folders), *batches)
    assert cut.objects == whole.objects
    assert cut.facts == whole.facts


def test_giving_up_aborts_what_is_open_and_leaves_what_is_finished() -> None:
    bucket = FakeBucket()
    writer = writer_of(bucket, 12)
    writer.write(records([*range(9)]))
    assert writer.end_pass()
    writer.write(records([*range(9)]))
    writer.abort()
    assert len(bucket.objects) == MOST_OPEN_OBJECTS
    assert bucket.aborted == ["m=8/0"]
    assert bucket.open == 0


def test_the_first_error_of_the_bucket_is_the_error_of_the_range() -> None:
    bucket = FakeBucket()
    bucket.failing = {"m=1/0"}
    writer = writer_of(bucket, 3)
    write(writer, [0, 1, 2])
    with pytest.raises(StorageError, match="SlowDown"):
        writer.objects()
