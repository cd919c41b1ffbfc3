"""Record batches that are stored as they are, and read back: each record of a range once, however ranges are cut."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.formats.damage import ContentError
from logpersister.formats.kafka.write import KafkaFormat
from logpersister.pipeline.reader.decode import Aborted, CorruptBatchError, Selected, select
from logpersister.pipeline.reader.segment import LAST, Segment
from logpersister.pipeline.task import Task, TaskResources
from logpersister.pipeline.verbatim import VerbatimWriter
from logpersister.pipeline.work import RangeOutcome, RangeWork
from logpersister.ranges import Range
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import TypeLayout
from tests.examples import examples
from tests.unit.pipeline.fakes import ROOM, FakeBucket, FakeTopic, FakeUpload, Modulo, work
from tests.unit.reader import record_batches as made
from tests.unit.reader import simulated_cluster as simulated
from tests.unit.reader.record_batches import CODECS, TRANSACTIONAL, Batch, Record
from tests.unit.reader.test_fetch_simulated import Scenario, reader_of, rows, scenarios

FIRST = Batch([Record(value=b"0"), Record(value=None), Record(value=b"2")], 0)
WITH_HOLES = Batch([Record(offset_delta=1), Record(offset_delta=4)], 3, made.ZSTD, last_offset_delta=6)
EMPTIED = Batch([], 10, last_offset_delta=4)
LAST_ONE = Batch([Record(), Record()], 15, made.LZ4)
LOG = [FIRST, WITH_HOLES, EMPTIED, LAST_ONE]
DATA = b"".join(batch.encode() for batch in LOG)


def selected(data: bytes, start: int = 0, end: int = 1 << 62, aborted: Sequence[Aborted] = ()) -> Selected:
    return select(memoryview(data), start, end, aborted=aborted, read_committed=True)


def written(
    scenario: Scenario, note: Callable[[Range], None] = lambda _: None
) -> tuple[FakeBucket, Mapping[Range, RangeOutcome]]:
    """Store ranges by a task, each object by the name of its range; `note` takes those that leave a note."""
    bucket, works = FakeBucket(), [RangeWork(one.range, None, 1, 0, one.range.start) for one in scenario.requests]
    resources = TaskResources(
        reader_of(scenario.cluster),
        FakeTopic(TopicLayout.of_one_type(TypeLayout(Modulo(1))), KafkaFormat(), is_verbatim=True),
        lambda item, _: FakeUpload(bucket, str(item.range)),
        ROOM,
        leave_note=lambda writer: note(writer.work.range),
    )
    return bucket, {one.range: one for one in Task(works, resources).outcomes()}


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[begin : begin + size] for begin in range(0, len(data), size))


@pytest.mark.slow
@examples(80)
@given(scenarios(), st.integers(1, 3000))
def test_objects_have_each_record_of_their_range_once_however_ranges_are_cut(scenario: Scenario, size: int) -> None:
    noted: list[Range] = []
    found, outcomes = written(scenario, noted.append)
    assert outcomes.keys() == {one.range for one in scenario.requests}
    assert set(noted) == {one for one in outcomes if not simulated.expected(scenario.log(one), one)}
    for range_, outcome in outcomes.items():
        log = scenario.log(range_)
        expected = simulated.expected(log, range_)
        unexplained = simulated.unexplained(log, range_)
        assert (outcome.error, outcome.unexplained) == (None, unexplained)
        assert [one.records for one in outcome.objects] == ([len(expected)] if expected else [])
        data, said = found.objects.pop(str(range_), b""), found.facts.get(str(range_), {})
        offsets = dict(expected)
        spans = ((range(one.base_offset, one.last_offset + 1), encoded) for one, encoded in log.batches)
        assert data == b"".join(encoded for span, encoded in spans if offsets.keys() & span)
        segment = Segment(in_pieces(data, size), range_.start, range_.end)
        assert rows(segment.batches()) == expected
        if expected:
            facts: dict[str, Any] = {"first": min(offsets), "last": max(offsets), "records": len(offsets)}
            facts |= {"checksum": segment.checksum} | ({"unexplained": unexplained} if unexplained else {})
            assert said == {name: str(one) for name, one in facts.items()}
    assert not found.objects


@pytest.mark.parametrize(
    ("start", "end", "batches", "records", "first", "last"),
    [
        (0, 99, [FIRST, WITH_HOLES, LAST_ONE], 7, 0, 16),
        (1, 16, [FIRST, WITH_HOLES, LAST_ONE], 5, 1, 15),
        (3, 10, [WITH_HOLES], 2, 4, 7),
        (5, 15, [WITH_HOLES], 1, 7, 7),
        (8, 15, [], 0, -1, -1),
    ],
)
def test_batches_are_whole_and_counts_are_of_the_range(
    start: int, end: int, batches: Sequence[Batch], records: int, first: int, last: int
) -> None:
    found = selected(DATA, start, end)
    assert b"".join(found.pieces) == b"".join(batch.encode() for batch in batches)
    assert (found.records, found.first, found.last) == (records, first, last)
    assert found.heads == b"".join(batch.encode()[:21] for batch in batches)
    assert found.next_offset >= min(end, 17)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("flags", [0, TRANSACTIONAL])
def test_batches_of_aborted_transactions_are_left_out(codec: int, flags: int) -> None:
    kept = Batch([Record()] * 3, 0, codec, flags, producer_id=1).encode()
    dropped = Batch([Record()] * 2, 3, codec, TRANSACTIONAL, producer_id=2).encode()
    data = kept + dropped + made.marker(5, 2, abort=True) + Batch([Record()], 6).encode()
    assert b"".join(selected(data, aborted=[Aborted(2, 3)]).pieces) == kept + Batch([Record()], 6).encode()
    assert selected(data, aborted=[Aborted(2, 3)]).next_offset == 7
    assert select(memoryview(data), 0, 9, aborted=[Aborted(2, 3)], read_committed=False).records == 6


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [made.NONE, made.GZIP])
def test_batches_of_old_formats_are_kept_as_they_are(magic: int, codec: int) -> None:
    old = made.legacy(magic, codec, 17, [(1000 + number, None, b"%d" % number) for number in range(4)])
    found = selected(DATA + old, 3, 20)
    assert b"".join(found.pieces) == DATA[len(FIRST.encode()) : -len(LAST_ONE.encode())][: len(WITH_HOLES.encode())] + (
        LAST_ONE.encode() + (old if codec else old[: len(old) * 3 // 4])
    )
    assert (found.records, found.first, found.last) == (7, 4, 19)
    damaged = bytearray(DATA + old)
    damaged[-1] ^= 1
    with pytest.raises(CorruptBatchError):
        selected(bytes(damaged))


def test_damage_is_told_wherever_it_is() -> None:
    for at in range(17, len(FIRST.encode())):  # what is before it has no checksum of its own
        damaged = bytearray(DATA)
        damaged[at] ^= 1
        with pytest.raises(CorruptBatchError):
            selected(bytes(damaged))
        with pytest.raises(ContentError):
            list(Segment([bytes(damaged)], 0, LAST).batches())


@pytest.mark.parametrize("data", [DATA[:-1], DATA + b"1", DATA + Batch([Record()], 99).encode(), b"no record batch"])
def test_what_is_no_whole_batch_of_the_range_is_told(data: bytes) -> None:
    with pytest.raises(ContentError):
        list(Segment(in_pieces(data, 10), 0, 50).batches())


def test_a_large_batch_is_refused_before_it_is_in_memory() -> None:
    large = Batch([Record(value=b"v" * 10_000)]).encode()
    with pytest.raises(ContentError, match="has 10"):
        list(Segment(in_pieces(large, 100), 0, LAST, most=1000).batches())


def test_a_small_part_of_a_response_does_not_keep_it_in_memory() -> None:
    response = memoryview(bytearray(FIRST.encode() + bytes(1 << 20)))
    size = len(FIRST.encode())
    kept: list[Any] = []

    class Upload:
        def write(self, data: Any) -> None:
            kept.append(data)

    writer = VerbatimWriter(work(), lambda *_: Upload())  # type: ignore[arg-type]
    for piece in (response[:size], response):
        writer.write(Selected((piece,), b"", 3, 0, 2, 3))
    assert kept == [bytes(response[:size]), response]
    assert [type(one) for one in kept] == [bytes, memoryview]
