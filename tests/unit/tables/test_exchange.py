"""Which files a switch takes out of a table and puts in, and when it must not."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest

from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.current import Current, Segment
from logpersister.storage.names import object_address, object_key
from logpersister.storage.receipts import NO_TYPE, Receipt, ReceiptName, TableFile, TableFiles, put_receipt
from logpersister.storage.store import ObjectStore
from logpersister.tables.errors import TableError, TableReason
from logpersister.tables.exchange import LiveFile, shown_text
from logpersister.tables.offsets import Ancestor, Held, Numbering, TableView, held_text
from logpersister.tables.switching import TableSwitch
from tests.unit.replay.bucket import Bucket

GROUP, TOPIC, BUCKET = "group", "clicks", "logs"
BOUNDS = {0: (0, 20)}
MEMBERS = Current("id", {2: BOUNDS}, {})
REPLAYED = MEMBERS.switched(2, BOUNDS)


def key(generation: int, start: Offset, path: str = "dt=1") -> str:
    return object_key("raw", TOPIC, path, generation, 0, start, ".parquet")


def file(name: str) -> TableFile:
    return TableFile(name, 5, 10, ("1",), {"1": {"size": 3, "values": 10}}, (4,))


def live(name: str, **told: Any) -> LiveFile:
    address = name if "://" in name else object_address(BUCKET, name)
    return replace(LiveFile(file(address), 0, False, None, None), **told)


def receipt(generation: int, start: Offset, *paths: str) -> Receipt:
    range_ = Range(TopicPartition(TOPIC, 0), start, start + 10)
    files = tuple(file(key(generation, start, path)) for path in paths)
    return Receipt(range_, "id", generation, "abc", {NO_TYPE: TableFiles("uuid", 0, 0, files)})


class FakeTable:
    """A table whose commit others may be faster than."""

    def __init__(self, *files: LiveFile) -> None:
        self.live = {one.file.key: one for one in files}
        self.held: Held = {Numbering(1, "id"): {0: 30}}
        self.shown = ""
        self.conflicts = 0
        self.commits = 0
        self.dies = False

    def load(self) -> "FakeTable":
        return self

    @property
    def view(self) -> TableView:
        head = Ancestor(1, 1, False, held_text(self.held))
        return TableView("lake.clicks", "uuid", 0, [head], None, None, shown=self.shown)

    def files(self) -> list[LiveFile]:
        return [*self.live.values()]

    def append(
        self, files: list[TableFile], held: Held, removed: Sequence[TableFile] = (), shown: str | None = None
    ) -> None:
        if self.conflicts:
            self.conflicts -= 1
            raise TableError("conflict", "others were faster")
        for one in removed:
            del self.live[object_address(BUCKET, one.key)]
        self.live |= {object_address(BUCKET, one.key): live(one.key) for one in files}
        self.shown, self.commits = self.shown if shown is None else shown, self.commits + 1
        assert held == self.held


class Scene:
    """Three ranges of members, of which a replay has stored two again."""

    def __init__(self) -> None:
        self.bucket = Bucket(name=BUCKET)
        self.store = cast("ObjectStore", self.bucket)
        self.old = [key(1, 0), key(1, 10, "dt=2"), key(1, 20)]
        self.new = [key(2, 0, "dt=3"), key(2, 10, "dt=3"), key(2, 10, "dt=4")]
        for one in (*self.old, *self.new):
            self.bucket.objects[one] = b"", self._facts(one)
        for made in (receipt(2, 0, "dt=3"), receipt(2, 10, "dt=3", "dt=4")):
            put_receipt(self.store, GROUP, made, kept=True)
        self.table = FakeTable(*map(live, self.old))
        self.pauses: list[float] = []
        self.switching = TableSwitch(self.store, GROUP, TOPIC, NO_TYPE, cast("Any", self.table), self.pauses.append)

    def _facts(self, name: str) -> Mapping[str, str]:
        start = int(name.rpartition("_")[2].split(".")[0])
        told = {"start": start, "end": start + 10, "first": start, "last": start + 9, "generation": 1, "partition": 0}
        texts = {"group": GROUP, "revision": "abc", "topic": TOPIC, "topic-id": "id", "checksum": "0", "records": "10"}
        return {**texts, **{name: str(value) for name, value in told.items()}}

    @property
    def live(self) -> set[str]:
        return {one.removeprefix("s3://logs/") for one in self.table.live}

    def refused(self, reason: TableReason, current: Current = REPLAYED) -> str:
        before = self.live
        with pytest.raises(TableError) as raised:
            self.switching.switch(current)
        assert (raised.value.reason, self.live, self.table.commits) == (reason, before, 0)
        return str(raised.value)


def test_files_are_replaced_where_a_replay_counts_and_put_in_again() -> None:
    scene = Scene()
    assert len(scene.switching.planned(REPLAYED).added) == 3
    assert scene.table.commits == 0
    for _ in range(2):  # who repeats it does nothing
        scene.switching.switch(REPLAYED)
        assert (scene.live, scene.table.commits) == ({*scene.new, scene.old[2]}, 1)
    assert scene.table.shown == shown_text(REPLAYED) == '{"0":[[0,20,2]]}'
    for _ in range(2):
        scene.switching.switch(MEMBERS)
        assert (scene.live, scene.table.commits) == ({*scene.old}, 2)


def test_a_part_of_a_replay_counts_where_another_one_was_switched_to() -> None:
    scene = Scene()
    current = replace(MEMBERS, partitions={0: (Segment(10, 20, 2),)})
    scene.switching.switch(current)
    assert scene.live == {scene.old[0], scene.old[2], *scene.new[1:]}


def test_a_conflict_begins_again_and_ends_at_some_point() -> None:
    scene = Scene()
    scene.table.conflicts = 3
    scene.switching.switch(REPLAYED)
    assert (len(scene.pauses), scene.live) == (3, {*scene.new, scene.old[2]})
    scene = Scene()
    scene.table.conflicts = 100
    scene.refused("conflict")


def test_rows_that_wait_would_be_appended_afterwards() -> None:
    scene = Scene()
    scene.table.held = {Numbering(1, "id"): {0: 10}}
    put_receipt(scene.store, GROUP, receipt(1, 10, "dt=2"))
    assert "before offset 10, and those from 10 on wait" in scene.refused("behind")
    scene.table.held = {Numbering(1, "id"): {0: 20}}  # a receipt that nobody has deleted yet
    scene.switching.switch(REPLAYED)


@pytest.mark.parametrize(
    ("foreign", "refused"),
    [
        ({}, True),
        ({"partitions": (0, 3), "offsets": (5, 90)}, True),
        ({"partitions": (1, 3), "offsets": (5, 90)}, False),
        ({"partitions": (0, 0), "offsets": (20, 90)}, False),
    ],
)
def test_files_of_others_must_not_have_rows_of_the_replay(foreign: dict[str, Any], refused: bool) -> None:
    scene = Scene()
    scene.table.live["s3://logs/x/compacted.parquet"] = live("s3://logs/x/compacted.parquet", **foreign)
    if refused:
        assert "compacted.parquet was written by others" in scene.refused("rewritten")
    else:
        scene.switching.switch(REPLAYED)


def test_deleted_rows_do_not_come_back() -> None:
    scene = Scene()
    address = object_address(BUCKET, scene.old[0])
    scene.table.live[address] = live(scene.old[0], has_deletes=True)
    assert "were deleted, and would come back" in scene.refused("rewritten")


def test_a_replay_without_the_table_is_not_shown() -> None:
    scene = Scene()
    made = [name for name in scene.bucket.objects if "kept-receipts" in name]
    del scene.bucket.objects[made[1]]
    assert "no receipt of partition 0 from offset 10 on" in scene.refused("no-receipts")


def test_an_object_that_has_gone_is_not_put_in() -> None:
    scene = Scene()
    scene.switching.switch(REPLAYED)
    del scene.bucket.objects[scene.old[0]]
    scene.table.commits = 0
    assert f"object s3://logs/{scene.old[0]} has gone" in scene.refused("rewritten", MEMBERS)


def test_another_table_of_the_name_is_told() -> None:
    scene = Scene()
    of_another = receipt(2, 0, "dt=3")
    tables = {NO_TYPE: replace(of_another.tables[NO_TYPE], table="dropped")}
    put_receipt(scene.store, GROUP, replace(of_another, tables=tables), kept=True)
    assert "another table of this name" in scene.refused("other-table")


def test_receipts_of_what_is_taken_out_are_kept_before() -> None:
    scene = Scene()
    scene.table.conflicts = 100
    scene.refused("conflict")
    names = {ReceiptName(1, 0, 0), ReceiptName(1, 0, 10)}
    kept = [one for one in scene.bucket.objects if "kept-receipts" in one and "/1_0_" in one]
    assert len(kept) == len(names)
