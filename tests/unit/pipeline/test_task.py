import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pytest

from logpersister.manifest.blocks.output import OutputSpec
from logpersister.pipeline.dry_run import DryRun
from logpersister.pipeline.range_results import RangeResults
from logpersister.pipeline.reader import RangeReadError
from logpersister.pipeline.summary import Summary
from logpersister.pipeline.task import MOST_UNFINISHED, Task, TaskResources
from logpersister.pipeline.work import RangeOutcome, RangeWork, WorkError
from logpersister.ranges import Range
from logpersister.records.late import Lateness
from logpersister.records.paths import Assignment
from logpersister.records.time_folders import TimeFolder
from logpersister.records.topic_layout import TopicLayout
from logpersister.records.type_layout import TypeLayout, layout_of
from logpersister.report.facts import LateRecords
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError, ObjectFacts
from logpersister.storage.ranges import Stored
from logpersister.values.field import FieldSpec
from logpersister.values.parser import Parsing
from logpersister.values.reading.columns import Portion
from logpersister.values.row_schema import RowSchema
from tests.unit.pipeline.fakes import CLICKS, ROOM, FakeBucket, FakeReader, FakeTopic, Modulo, records, work

GROUP = "backup"
OBJECTS = RowSchema(fields=(FieldSpec(name="id", type="int64"),))
"""What no record here is, but for tombstones."""
HORIZONS = {0: None, 100: 0, 200: 1}
"""By start of a range."""
OTHERS = "logpersister 0.9 under other rules: paths (there 1, here 2)"


def facts_of(start: int, end: int, offsets: Sequence[int], **changes: Any) -> ObjectFacts:
    """Return what the object of a range says that has these records."""
    summary = Summary()
    summary.update(records(offsets))
    said: Any = summary.facts()
    facts = ObjectFacts(
        group=GROUP,
        generation=1,
        revision="0123456789ab",
        topic_id="id",
        range=Range(CLICKS, start, end),
        first=int(said["first"]),
        last=int(said["last"]),
        records=int(said["records"]),
        tombstones=int(said["tombstones"]),
        checksum=said["checksum"],
    )
    return replace(facts, **changes)


class Ends:
    """Folders by time, for those of `Modulo`: each ends at its number."""

    def folder_of(self, path: str) -> TimeFolder | None:
        return TimeFolder(int(path.removeprefix("m=")), path)


def of_modulo(layout: Any, portion: Portion | None = None) -> TopicLayout:
    return TopicLayout.of_one_type(TypeLayout(layout, portion=portion))


class Bench:
    """What a task works with."""

    def __init__(self, folders: int = 1) -> None:
        self.reader, self.bucket = FakeReader(), FakeBucket()
        self.stored: dict[int, Stored] = {}
        """By start of a range: what is there of it, and perhaps of others."""
        self.layout = of_modulo(Modulo(folders))
        self.resources = TaskResources(self.reader, FakeTopic(self.layout), self.bucket.open_upload, ROOM)

    def with_other_rules(self) -> None:
        """Have the revision be of a build with other rules."""
        self.resources = replace(self.resources, dry_runs=self.dry_runs)

    def dry_runs(self, works: Sequence[RangeWork]) -> dict[Range, DryRun]:
        return {
            item.range: DryRun(
                item, GROUP, self.layout, lambda item, path: f"{path}/{item.range.start}", stored, OTHERS
            )
            for item in works
            if (stored := self.stored.get(item.range.start))
        }

    def task(self, *items: RangeWork) -> Task:
        return Task(items, self.resources)

    def run(self, *items: RangeWork) -> dict[int, RangeOutcome]:
        outcomes = list(self.task(*items).outcomes())
        assert sorted(it.range for it in outcomes) == sorted(item.range for item in items), "one outcome for each"
        return {it.range.start: it for it in outcomes}


def test_each_range_has_a_limit_of_quarantine_of_its_own() -> None:
    """Topics share a revision whose limits differ in the manifest of who executes it."""
    bench = Bench()
    layout = layout_of(OutputSpec(), Parsing(type="json"), OBJECTS)
    bench.resources = replace(bench.resources, topic=FakeTopic(TopicLayout.of_one_type(layout)))
    outcomes = bench.run(replace(work(0, 10), hold_above=50), replace(work(20, 30), hold_above=90), work(40, 50))
    errors = {start: it.error.kind if it.error is not None else None for start, it in outcomes.items()}
    assert errors == {0: "too-many-refused", 20: None, 40: None}
    assert sorted(bench.bucket.objects) == ["/20", "/40", "_quarantine/20", "_quarantine/40"]


def test_rows_are_made_of_few_bytes_at_once() -> None:
    """A value that is compressed may take many times its bytes in columns."""
    seen: list[int] = []

    class Counting(Modulo):
        def assign(self, batch: pa.RecordBatch) -> Assignment:
            seen.append(batch.num_rows)
            return super().assign(batch)

    whole, pieces = Bench(3), Bench(3)
    pieces.resources = replace(pieces.resources, topic=FakeTopic(of_modulo(Counting(3), Portion(1000, 300))))
    whole.run(work(0, 100))
    pieces.run(work(0, 100))
    assert pieces.bucket.objects == whole.bucket.objects
    assert (sum(seen), max(seen)) == (100, 300 // 64)


def test_a_bad_range_does_not_fail_its_neighbours_and_leaves_nothing_open() -> None:
    bench = Bench()
    bench.reader.errors[20] = RangeReadError("corrupt", CLICKS, 27, "CRC-32C is wrong")
    bench.bucket.failing = {"/60"}
    outcomes = bench.run(work(0, 10), work(1010, 1020), work(20, 40), work(40, 50), work(60, 70))
    kinds = {start: it.error.kind if it.error else None for start, it in outcomes.items()}
    assert kinds == {0: None, 1010: "encode", 20: "corrupt", 40: None, 60: "throttled"}
    assert sorted(bench.bucket.aborted) == ["/1010", "/20"]
    assert bench.bucket.open == 0
    assert outcomes[20].objects == ()


@pytest.mark.parametrize("folders", [3, 20], ids=["one-pass", "further-passes"])
@pytest.mark.parametrize("to_quarantine", [False, True], ids=["folder", "quarantine"])
def test_each_range_puts_late_records_where_its_horizon_says(folders: int, to_quarantine: bool) -> None:
    """They are good: however many of a range there are, it is not held for them."""
    bench, ends = Bench(folders), cast("Any", Ends())
    topic = FakeTopic(
        bench.layout, lateness=lambda horizon: None if horizon is None else Lateness(ends, horizon, to_quarantine)
    )
    bench.resources = replace(bench.resources, topic=topic)
    works = [replace(work(start, start + 60), horizon=horizon, hold_above=0) for start, horizon in HORIZONS.items()]
    outcomes = bench.run(*works)
    for start, horizon in HORIZONS.items():
        late = [number for number in range(folders) if horizon is not None and number <= horizon]
        found = {key.removesuffix(f"/{start}") for key in bench.bucket.objects if key.endswith(f"/{start}")}
        apart = {"_quarantine"} if to_quarantine else {f"_late/m={number}" for number in late}
        assert found == {f"m={number}" for number in range(folders) if number not in late} | (apart if late else set())
        records = sum((start + number) % folders in late for number in range(60))
        to: Any = "quarantine" if to_quarantine else "folder"
        outcome = outcomes[start]
        assert (outcome.error, outcome.records, outcome.quarantined) == (None, 60, None)
        assert outcome.late == (LateRecords(records, to) if late else None)


@pytest.mark.parametrize("folders", [1, 12])
def test_offsets_that_nobody_explained_are_told_and_stand_with_the_objects(folders: int) -> None:
    bench = Bench(folders)
    bench.reader.silent = {0: 7, 50: 10}
    outcomes = bench.run(work(0, 30), work(50, 60), work(60, 70))
    assert {start: (it.records, it.unexplained) for start, it in outcomes.items()} == {
        0: (23, 7),
        50: (0, 10),
        60: (10, 0),
    }
    said = {key: facts.get("unexplained") for key, facts in bench.bucket.facts.items()}
    assert set(said.values()) == {"7", None}
    assert {key for key, offsets in said.items() if offsets} == {key for key in said if key.endswith("/0")}


@pytest.mark.parametrize("said", [{}, {"tombstones": None, "checksum": "batches:00000000"}], ids=["rows", "batches"])
@pytest.mark.parametrize("folders", [1, 3, 20], ids=["one", "three", "further-passes"])
def test_what_others_began_is_finished_where_it_is_what_would_be_written(folders: int, said: dict[str, Any]) -> None:
    bench = Bench(folders)
    bench.with_other_rules()
    path = "m=1" if folders > 1 else ""
    bench.stored = {0: {f"{path}/0": facts_of(0, 40, range(1 if folders > 1 else 0, 40, folders), **said)}}
    outcomes = bench.run(work(0, 40), work(50, 60))
    assert {start: (it.error, it.records) for start, it in outcomes.items()} == {0: (None, 40), 50: (None, 10)}
    passes = [sorted(it.range.start for it in requests) for requests in bench.reader.requests]
    assert passes[:2] == [[0, 50], [0]], "only what others began is read before it is written"


@pytest.mark.parametrize(
    ("stored", "problem"),
    [
        ({"m=7/0": facts_of(0, 40, [7])}, "'m=7/0' is there, and this member would put its 1 records elsewhere"),
        ({"m=1/0": facts_of(0, 40, [1, 5, *range(7, 40, 3)])}, "'m=1/0' has checksum crc32:"),
        ({"m=1/0": facts_of(0, 40, range(4, 40, 3))}, "'m=1/0' has first 4, and this member would write 1"),
        ({"m=1/0": facts_of(0, 30, range(1, 40, 3))}, r"'m=1/0' is clicks-0\[0,30\) of generation 1 of group 'backup'"),
        ({"m=1/0": ForeignObjectError("object 'm=1/0' is not whole")}, "object 'm=1/0' is not whole"),
    ],
    ids=["elsewhere", "others", "fewer", "another-end", "damaged"],
)
def test_what_others_began_otherwise_is_left_as_it_is(stored: Stored, problem: str) -> None:
    bench = Bench(3)
    bench.with_other_rules()
    good = {"m=0/0": facts_of(0, 40, range(0, 40, 3))}
    bench.stored = {0: {**good, **stored}}
    outcomes = bench.run(work(0, 40), work(50, 60))
    error = outcomes[0].error
    assert error is not None
    assert (error.kind, error.upload) == ("other-rules", False)
    assert re.fullmatch(
        rf"clicks-0\[0,40\) was begun by {re.escape(OTHERS)}\. (object )?.*{problem}.*", error.message
    ), error.message
    assert outcomes[50].error is None
    assert {key for key in bench.bucket.objects if key.endswith("/0")} == set()
    assert bench.bucket.open == 0


def test_what_is_partly_lost_is_read_from_where_it_begins_and_told_of_as_promised() -> None:
    bench = Bench()
    (outcome,) = bench.task(work(0, 10, read_from=4)).outcomes()
    assert bench.reader.requests[0][0].range.start == 4
    assert outcome.range.start == 0
    assert outcome.records == 6
    assert list(bench.bucket.objects) == ["/0"], "named as promised"


def test_ranges_are_read_on_while_others_become_durable_up_to_a_limit() -> None:
    bench = Bench()
    waiting = bench.bucket.waiting = []
    original, most_waiting = bench.resources.open_upload, 0

    def open_upload(item: RangeWork, path: str) -> Any:
        nonlocal most_waiting
        most_waiting = max(most_waiting, len(waiting))
        if len(waiting) >= MOST_UNFINISHED:  # the bucket answers, at last
            future, stored = waiting.pop(0)
            future.set_result(stored)
        return original(item, path)

    items = [work(10 * index, 10 * index + 3) for index in range(2 * MOST_UNFINISHED)]
    outcomes = Task(items, TaskResources(bench.reader, bench.resources.topic, open_upload, ROOM)).outcomes()
    first = [next(outcomes) for _ in range(MOST_UNFINISHED)]
    assert most_waiting == MOST_UNFINISHED
    for future, stored in waiting:
        future.set_result(stored)
    assert len([*first, *outcomes]) == len(items)


def test_a_range_without_its_receipt_is_not_stored() -> None:
    bench = Bench()

    def fails(writer: RangeResults) -> None:
        if writer.work.range.start == 5:
            raise StorageError("throttled", "slow down")

    outcomes = list(Task([work(0, 5), work(5, 9)], replace(bench.resources, leave_receipt=fails)).outcomes())
    assert {one.range.start: one.error for one in outcomes} == {
        0: None,
        5: WorkError("throttled", "slow down", upload=True),
    }
