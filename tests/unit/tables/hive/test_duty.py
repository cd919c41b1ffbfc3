"""Folders become partitions, each once noted is registered, whoever is killed when."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from logpersister.manifest import LogPersister
from logpersister.pipeline.folder_notes import FolderNotes, folder_notes
from logpersister.report.facts import WrittenObject
from logpersister.storage import names
from logpersister.storage.finished import FolderContent, FolderObject, put_folder_content
from logpersister.storage.names import object_key
from logpersister.storage.store import ObjectStore
from logpersister.storage.untold import TABLE, Untold, list_untold, put_untold
from logpersister.tables.errors import TableError
from logpersister.tables.hive.columns import columns_of
from logpersister.tables.hive.duty import RegistrationDuty
from logpersister.tables.hive.table import REGISTERED
from tests.unit.finish.world import FakeStore
from tests.unit.tables.hive.fakes import BY_DAY, GROUP, TOPIC, FakeMetastore, manifest, topic_of

NAME = ("lake", "clicks")
DAYS = [f"dt=2026-11-{day:02d}" for day in range(1, 31)]
DEEP = {"parquet": {}, "partitionBy": [*BY_DAY, {"offset": {"every": 10}}]}


class KilledError(Exception):
    """Where a test ends a process."""


@dataclass
class World:
    """A bucket with folders, a metastore, and a duty that may begin anew."""

    resource: LogPersister = field(default_factory=manifest)
    bucket: FakeStore = field(default_factory=FakeStore)
    metastore: FakeMetastore = field(default_factory=FakeMetastore)
    time: float = 0.0

    @property
    def store(self) -> ObjectStore:
        return cast("ObjectStore", self.bucket)

    def duty(self, *, knows_columns: bool = True) -> RegistrationDuty:
        return RegistrationDuty(
            self.store,
            GROUP,
            lambda _: topic_of(self.resource, self.metastore),
            lambda _: columns_of(self.resource) if knows_columns else None,
            60.0,
            clock=lambda: self.time,
        )

    def put(self, *paths: str) -> list[WrittenObject]:
        """Store an object in each folder, without a note."""
        keys = [object_key("raw", TOPIC, path, 1, 0, 0, ".parquet") for path in paths]
        self.bucket.objects |= dict.fromkeys(keys)
        return [WrittenObject(key, 1, 1) for key in keys]

    def store_in(self, *paths: str) -> None:
        """Do as a task does."""
        notes = folder_notes(self.store, GROUP, self.resource.spec)
        written = self.put(*paths)
        if notes is not None:
            notes.note(written)

    def finish(self, path: str, number: int, *objects: str) -> None:
        """Do as whoever finishes a folder does."""
        found = tuple(FolderObject(name, 0, 1, 0, 1, 1) for name in objects)
        before = self.bucket.documents.get(names.folder_key("raw", GROUP, TOPIC, path))
        content = FolderContent(TOPIC, path, "", number, {}, found)
        assert put_folder_content(self.store, GROUP, content, None if before is None else before[1])
        put_untold(self.store, GROUP, TABLE, TOPIC, Untold(path, number))

    def notes(self) -> Sequence[Untold]:
        return list_untold(self.store, GROUP, TABLE).get(TOPIC, [])

    def locations(self) -> set[str]:
        return {place.removeprefix("s3a://logs/raw/clicks/") for place in self.metastore.registered.values()}


def all_of(duty: RegistrationDuty) -> None:
    while duty.perform(TOPIC, last=True) == 0.0:
        pass


def test_folders_that_were_there_before_and_those_that_come_are_registered() -> None:
    world = World()
    world.put(*DAYS[:5], "_quarantine", f"_late/{DAYS[6]}", "other=1")
    duty = world.duty()
    assert duty.perform(TOPIC) == 60.0
    assert world.locations() == set(DAYS[:5])
    assert world.metastore.tables[NAME].parameters[REGISTERED] == "onFirstObject"
    world.store_in(*DAYS[:7], "_quarantine", f"_late/{DAYS[8]}")
    assert duty.perform(TOPIC) == 60.0
    assert world.locations() == set(DAYS[:5]), "the bucket is listed once in a while"
    world.time += 60
    assert duty.perform(TOPIC) == 60.0
    assert (world.locations(), world.notes()) == (set(DAYS[:7]), [])
    listings, calls = world.bucket.listings, len(world.metastore.calls)
    world.time += 60
    duty.perform(TOPIC)
    assert (world.bucket.listings - listings, len(world.metastore.calls) - calls) == (1, 0), (
        "nothing new costs a listing"
    )
    other = world.duty()
    other.perform(TOPIC)
    assert world.metastore.calls[calls:] == ["table", "table"], "folders are not looked through again"


def test_a_folder_is_noted_once_per_process() -> None:
    world = World()
    notes = FolderNotes(world.store, GROUP)
    for _ in range(3):
        notes.note(world.put(*DAYS[:2], "", "_quarantine", f"_late/{DAYS[2]}"))
    assert len(world.bucket.written) == 2


def test_a_path_whose_note_would_have_too_long_a_name_delays_no_rows() -> None:
    world = World()
    long = "a=" + "b" * 240
    world.bucket.prefix = "p" * 700
    keys = [object_key(world.bucket.prefix, TOPIC, f"{long}", 1, 0, 0, "")]
    FolderNotes(world.store, "g" * 60).note([WrittenObject(key, 1, 1) for key in keys])
    assert world.bucket.written == []


def test_every_crash_leaves_what_the_next_one_needs() -> None:
    """Killed before and after each write and each request, one after the other."""
    for killed_at in range(40):
        world = World(manifest(output=DEEP))
        paths = [f"{day}/offset={number}" for day in DAYS[:3] for number in (0, 10)]
        world.put(*paths[:2])
        world.store_in(*paths[2:])
        world.metastore.before = world.metastore.after = _killer(killed_at, world.bucket)
        with pytest.raises(KilledError):
            all_of(world.duty())
            raise KilledError
        world.metastore.before = world.metastore.after = lambda _: None
        world.bucket.before_write = lambda: None
        all_of(world.duty())
        assert (world.locations(), world.notes()) == (set(paths), []), killed_at


def _killer(at: int, bucket: FakeStore) -> Callable[[str], None]:
    left = at

    def kill(_: str = "") -> None:
        nonlocal left
        if left == 0:
            raise KilledError
        left -= 1

    bucket.before_write = kill
    return kill


def test_a_metastore_that_is_away_delays_registration_only() -> None:
    world = World()
    duty = world.duty()
    duty.perform(TOPIC)

    def away(_: str) -> None:
        raise TableError("unavailable", "thrift://none does not answer")

    world.metastore.before = away
    world.time += 60
    world.store_in(*DAYS[:3])
    with pytest.raises(TableError, match=r"table lake\.clicks: thrift://none does not answer"):
        duty.perform(TOPIC)
    assert len(world.notes()) == 3
    world.metastore.before = lambda _: None
    duty.perform(TOPIC, last=True)
    assert (world.locations(), world.notes()) == (set(DAYS[:3]), [])


def test_a_dropped_table_is_made_anew_with_all_its_folders() -> None:
    world = World()
    world.store_in(*DAYS[:3])
    duty = world.duty()
    duty.perform(TOPIC)
    world.metastore.tables.clear()
    world.metastore.registered.clear()
    world.store_in(DAYS[3])
    with pytest.raises(TableError, match="is created with the next records of the topic"):
        world.duty(knows_columns=False).perform(TOPIC)
    duty.perform(TOPIC, last=True)
    assert world.locations() == set(DAYS[:4])


def test_what_is_refused_is_told_and_stays_noted() -> None:
    world = World()
    world.put(*DAYS[:2])
    world.metastore.refused = {("2026-11-02",), ("2026-11-05",)}
    duty = world.duty()
    duty.perform(TOPIC)
    assert (world.locations(), world.notes()) == ({DAYS[0]}, [Untold(DAYS[1], 0)]), "a survey notes what is refused"
    world.store_in(*DAYS[2:6])
    with pytest.raises(TableError, match=r"folder dt=2026-11-02 is not registered: .*too long \(and 1 more folders\)"):
        duty.perform(TOPIC, last=True)
    assert [note.path for note in world.notes()] == [DAYS[1], DAYS[4]]
    world.metastore.refused.clear()
    duty.perform(TOPIC, last=True)
    assert (world.locations(), world.notes()) == (set(DAYS[:6]), [])


def test_what_takes_long_is_done_in_several_attempts() -> None:
    world = World(manifest(output=DEEP))
    world.put(*(f"{day}/offset={number}" for day in DAYS for number in range(0, 100, 10)))

    def slow(call: str) -> None:
        world.time += 30 if call == "add_partitions" else 0

    world.metastore.before = slow
    duty = world.duty()
    assert [duty.perform(TOPIC) for _ in range(2)] == [0.0, 60.0]
    assert len(world.locations()) == 300
    assert world.metastore.calls.count("partitions") == 1, "the second attempt goes on where the first one stood"
    world.store_in(*(f"{day}/offset={number}" for day in DAYS for number in range(1000, 1140, 10)))
    assert [duty.perform(TOPIC, last=True) for _ in range(2)] == [0.0, 60.0]
    assert (len(world.locations()), world.notes()) == (720, [])


class TestFinished:
    """Folders become partitions when they are finished."""

    def world(self, **output: Any) -> World:
        finish = {"policy": ["successFile"]}
        spec = {"output": output} if output else {}
        return World(manifest(table={"partitions": "onFinish"}, finish=finish, **spec))

    def test_only_finished_folders_are_registered(self) -> None:
        world = self.world()
        world.store_in(*DAYS[:3])
        assert world.notes() == []
        world.finish(DAYS[0], 1, "1_0_0.parquet")
        duty = world.duty()
        duty.perform(TOPIC)
        assert (world.locations(), world.notes()) == ({DAYS[0]}, [])
        world.finish(DAYS[1], 1, "1_0_0.parquet")
        duty.perform(TOPIC, last=True)
        assert world.locations() == set(DAYS[:2])

    def test_folders_below_come_with_the_content_and_late_ones_with_its_next_number(self) -> None:
        world = self.world(**DEEP)
        duty = world.duty()
        duty.perform(TOPIC)
        world.finish(DAYS[0], 1, "offset=0/a", "offset=0/b", "offset=10/a")
        duty.perform(TOPIC, last=True)
        assert world.locations() == {f"{DAYS[0]}/offset={number}" for number in (0, 10)}
        world.finish(DAYS[0], 2, "offset=0/a", "offset=0/b", "offset=10/a", "offset=20/a")
        duty.perform(TOPIC, last=True)
        assert f"{DAYS[0]}/offset=20" in world.locations()

    def test_a_change_to_first_objects_registers_the_rest(self) -> None:
        world = self.world()
        world.put(*DAYS[:3])
        world.finish(DAYS[0], 1, "a")
        world.duty().perform(TOPIC)
        world.resource = manifest()
        world.duty().perform(TOPIC)
        assert world.locations() == set(DAYS[:3])
        assert world.metastore.tables[NAME].parameters[REGISTERED] == "onFirstObject"
