"""Each record of a range comes once, from Kafka or from a backup, wherever Kafka's log and the backup begin and end."""

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.backup.part import BackupPart
from logpersister.backup.ranges import BackupObject, Explained, PartitionBackup, partition_backups
from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.pipeline.source import Pace, SourceReader
from logpersister.ranges import Range, TopicPartition
from logpersister.records.schema import RECORDS
from logpersister.storage.errors import StorageError
from logpersister.storage.store import ObjectStore
from tests.examples import examples
from tests.unit.reader import simulated_cluster as simulated
from tests.unit.reader.simulated_cluster import SimulatedCluster, Write, make_log
from tests.unit.reader.test_fetch_simulated import SMALL, Scenario, reader_of, rows, scenarios
from tests.unit.reader.test_verbatim import in_pieces, written

PARTITION = TopicPartition("t", 0)
Backup = tuple[Mapping[str, bytes], Mapping[TopicPartition, PartitionBackup]]


class FakeStore:
    """Objects of a backup."""

    def __init__(self, objects: Mapping[str, bytes], size: int = 1000) -> None:
        self._objects, self._size = objects, size

    def read(self, key: str) -> Generator[bytes, None, None]:
        if key not in self._objects:
            raise StorageError("rejected", "no such key", code="NoSuchKey")
        yield from in_pieces(self._objects[key], self._size)


def backed_up(cluster: SimulatedCluster, ranges: Sequence[Range]) -> Backup:
    """Return what a backup of these ranges has."""
    found, outcomes = written(Scenario(cluster, [ReadRequest(one, 0) for one in ranges]))
    objects, empty = [], []
    for range_ in outcomes:
        said = found.facts.get(str(range_))
        if said is None:
            empty.append(Explained(range_, 1, is_lost=False))
        else:
            first, last, records = (int(said[name]) for name in ("first", "last", "records"))
            objects.append(BackupObject(str(range_), range_, 1, records, first, last))
    return found.objects, partition_backups(objects, empty)


def source(cluster: SimulatedCluster, objects: Mapping[str, bytes], *, kafka: bool = True) -> SourceReader:
    settings = replace(SMALL, headers=False)
    return SourceReader(reader_of(cluster, settings), cast("ObjectStore", FakeStore(objects)), kafka=kafka)


def test_what_was_read_is_waited_for_and_pauses_save_nothing() -> None:
    now, slept = 0.0, []

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        slept.append(seconds)

    pace = Pace(100, lambda: now, sleep)
    pace.spend(50)
    now += 10
    for _ in range(2):
        pace.spend(100)
    assert slept == [0.5, 1.0, 1.0]


@pytest.mark.parametrize("kafka", [True, False])
def test_all_records_of_a_source_are_paced(kafka: bool) -> None:
    cluster, (objects, backup), expected = whole()
    cluster.logs[PARTITION].start = 4
    slept: list[float] = []
    pace = Pace(1, lambda: 0.0, slept.append)
    store = cast("ObjectStore", FakeStore(objects))
    reader = SourceReader(reader_of(cluster, replace(SMALL, headers=False)), store, kafka=kafka, pace=pace)
    (found,) = read_one(reader, with_backup(ReadRequest(Range(PARTITION, 0, 9), 0), backup))
    assert found == [one for one in expected if one[0] < 9]
    assert slept[-1] >= sum(len(value) for _, value in found)


def with_backup(request: ReadRequest, backup: Mapping[TopicPartition, PartitionBackup]) -> ReadRequest:
    return replace(request, backup=BackupPart.of(backup.get(request.range.partition), request.range))


@pytest.mark.slow
@examples(100)
@given(scenarios(), st.data())
def test_each_record_comes_from_one_source(scenario: Scenario, data: st.DataObject) -> None:
    cluster = scenario.cluster
    cluster.faults, cluster.slow_storage = iter(()), iter(())
    expected = {one.range: simulated.expected(scenario.log(one.range), one.range) for one in scenario.requests}
    ranges, deleted = [], {}
    for partition, log in cluster.logs.items():
        end = data.draw(st.integers(log.start + 1, log.end))
        cuts = sorted({log.start, end} | data.draw(st.sets(st.integers(log.start, end), max_size=4)))
        ranges += [Range(partition, start, stop) for start, stop in itertools.pairwise(cuts)]
        deleted[partition] = data.draw(st.integers(log.start, end))
    objects, backup = backed_up(cluster, ranges)
    for partition in deleted.keys() & backup.keys():  # of others there was no record to store
        cluster.logs[partition].start = deleted[partition]
    found = {}
    for read in source(cluster, objects).read([with_backup(one, backup) for one in scenario.requests]):
        found[read.range] = rows(read.batches())
    assert found == expected


def one_log(deleted: int) -> tuple[SimulatedCluster, list[tuple[int, bytes]]]:
    """Return a cluster whose log begins with an offset, and all that it had."""
    log = make_log([Write([20, 30, 40]) for _ in range(5)])
    expected = simulated.expected(log, Range(PARTITION, 0, log.end))
    log.start = deleted
    return SimulatedCluster({PARTITION: log}), expected


def whole() -> tuple[SimulatedCluster, Backup, list[tuple[int, bytes]]]:
    cluster, expected = one_log(0)
    return cluster, backed_up(cluster, [Range(PARTITION, 0, 4), Range(PARTITION, 4, 9)]), expected


def read_one(reader: SourceReader, request: ReadRequest) -> Iterator[list[tuple[int, bytes]]]:
    return (rows(read.batches()) for read in reader.read([request]))


@pytest.mark.parametrize("missing", [0, 4])
def test_a_hole_is_an_error_that_names_it(missing: int) -> None:
    cluster, (objects, _), _ = whole()
    cluster.logs[PARTITION].start = 9
    kept = Range(PARTITION, 4 - missing, 9 - missing if missing == 0 else 4)
    backup = partition_backups([BackupObject(str(kept), kept, 1, kept.offsets, kept.start, kept.end - 1)])
    request = with_backup(ReadRequest(Range(PARTITION, 0, 12), 0), backup)
    with pytest.raises(RangeReadError, match=rf"the backup has no object with t-0\[{missing},") as raised:
        list(read_one(source(cluster, objects), request))
    assert (raised.value.kind, raised.value.offset) == ("hole", missing)


def test_what_kafka_has_deleted_is_a_hole_without_a_backup() -> None:
    cluster, _ = one_log(3)
    reader = SourceReader(reader_of(cluster), None, kafka=True)
    with pytest.raises(RangeReadError, match=r"Kafka has deleted t-0\[1,3\), and no backup was named") as raised:
        list(read_one(reader, ReadRequest(Range(PARTITION, 1, 6), 0)))
    assert raised.value.kind == "hole"


def test_an_object_that_was_deleted_is_a_hole() -> None:
    cluster, (objects, backup), _ = whole()
    left = {key: content for key, content in objects.items() if "[4," not in key}
    request = with_backup(ReadRequest(Range(PARTITION, 0, 9), 0), backup)
    with pytest.raises(RangeReadError, match="of the backup was deleted") as raised:
        list(read_one(source(cluster, left, kafka=False), request))
    assert (raised.value.kind, raised.value.offset) == ("hole", 4)


def test_an_object_with_other_records_than_its_facts_say_is_corrupt() -> None:
    cluster, (objects, _), _ = whole()
    range_ = Range(PARTITION, 0, 4)
    backup = partition_backups([BackupObject(str(range_), range_, 1, 3, 0, 3)])
    with pytest.raises(RangeReadError, match="its facts say 3") as raised:
        list(read_one(source(cluster, objects, kafka=False), with_backup(ReadRequest(range_, 0), backup)))
    assert raised.value.kind == "corrupt"


def test_the_backup_alone_is_read_without_asking_kafka() -> None:
    cluster, (objects, backup), expected = whole()
    calls = len(cluster.calls)
    request = with_backup(ReadRequest(Range(PARTITION, 2, 7), 0), backup)
    (found,) = read_one(source(cluster, objects, kafka=False), request)
    assert found == [record for record in expected if 2 <= record[0] < 7]
    assert len(cluster.calls) == calls


@pytest.mark.parametrize("kafka", [True, False])
def test_columns_do_not_depend_on_the_source(kafka: bool) -> None:
    cluster, (objects, backup), _ = whole()
    request = with_backup(ReadRequest(Range(PARTITION, 0, 9), 0), backup)
    for read in source(cluster, objects, kafka=kafka).read([request]):
        assert {batch.schema for batch in read.batches()} == {RECORDS}


def test_ranges_are_not_read_verbatim() -> None:
    cluster, (objects, backup), _ = whole()
    for read in source(cluster, objects).read([with_backup(ReadRequest(Range(PARTITION, 0, 9), 0), backup)]):
        with pytest.raises(NotImplementedError, match="not replayed"):
            read.verbatim()
