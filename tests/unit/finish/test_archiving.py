"""The archive of a folder: by number, against others that make it at once, and where it cannot be made."""

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

import pytest

from logpersister.finish.archiving import Archiver, missing
from logpersister.finish.telling import Message, NotTakenError, RefusedError
from logpersister.formats.archive.settings import ArchiveSpec
from logpersister.formats.archive.write import ArchiveFormat
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.copies import Copy
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import FolderContent, FolderObject
from logpersister.storage.losses import Loss
from tests.unit.finish.world import MIDNIGHT_MS
from tests.unit.formats.samples import Record, batch, encode, with_headers
from tests.unit.manifest.documents import accepted
from tests.unit.replay.bucket import Bucket

PATH = "prices/dt=2026-03-28/hr=00"
ROOT = f"raw/clicks/{PATH}/"
ARCHIVE = f"raw/clicks/_archives/{PATH}/prices_20260328T00Z"
BY_HOUR = [{"key": {"prefix": ""}}, {"date": {"granularity": "day"}}, {"date": {"granularity": "hour"}}]


class World:
    """A folder with archives of ranges."""

    def __init__(self, naming: str = "primary", fields: Sequence[str] = ()) -> None:
        """Fields name levels between the key and the date."""
        self.store = Bucket()
        self.copies: list[Copy] = []
        levels = [BY_HOUR[0], *({"field": one} for one in fields), *BY_HOUR[1:]]
        value = {"json": {"fields": [{"name": one, "type": "string"} for one in fields]}} if fields else {"bytes": {}}
        output = {"archive": {"naming": naming}, "partitionBy": levels}
        finish = {"policy": ["archive", "successFile"]}
        self.resource = accepted({"spec.output": output, "spec.finish": finish, "spec.value": value})
        self.content = FolderContent("clicks", PATH, "2026-03-28T01:00:00Z", 0, {0: 100}, ())

    def store_range(self, start: int, *values: str) -> None:
        """Store a range of records, ten seconds apart, and give the folder its next number."""
        rows = [
            Record(start + at, MIDNIGHT_MS + 10_000 * (start + at), b"prices", value.encode())
            for at, value in enumerate(values)
        ]
        name = f"1_0_{start:020d}.tar.gz"
        headers = [(b"replica", b"a"), (b"missed-polls", b"1"), (b"missed-since", str(MIDNIGHT_MS).encode())]
        content = encode(ArchiveFormat(ArchiveSpec()), [with_headers(batch(rows), [headers])])
        self.store.objects[f"raw/clicks/{self.content.path}/{name}"] = content, {}
        found = FolderObject(name, 0, 1, start, len(values), len(content))
        objects = (*self.content.objects, found)
        self.content = replace(self.content, number=self.content.number + 1, objects=objects)

    def archive(self, content: FolderContent | None = None) -> None:
        content = content or self.content
        with Archiver(self.store.store, self.resource, self.copies).session() as send:
            send(Message("id", f"clicks/{content.path}", content.number, b"{}", content))

    @property
    def names(self) -> list[str]:
        return [one.key for one in self.store.list_objects("raw/clicks/_archives/")]

    def files(self, key: str = f"{ARCHIVE}.tar.gz") -> dict[str, bytes]:
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(self.store.objects[key][0]))) as archive:
            return {one.name: cast("io.BufferedReader", archive.extractfile(one)).read() for one in archive}

    def values(self) -> list[str]:
        return sorted(value.decode() for name, value in self.files().items() if name[0] != ".")


def test_a_number_has_one_archive_and_a_lower_one_changes_nothing() -> None:
    world = World()
    world.store_range(0, "a", "b")
    world.archive()
    first, before = world.content, world.store.objects[f"{ARCHIVE}.tar.gz"]
    world.store_range(50, "c")
    world.archive()
    assert (world.names, world.values()) == ([f"{ARCHIVE}.tar.gz"], ["a", "b", "c"])
    assert json.loads(world.files()[".manifest.json"])["number"] == 2
    second = world.store.objects[f"{ARCHIVE}.tar.gz"]
    world.archive(first)
    assert world.store.objects[f"{ARCHIVE}.tar.gz"] == second
    del world.store.objects[f"{ARCHIVE}.tar.gz"]
    world.archive(first)
    assert world.store.objects[f"{ARCHIVE}.tar.gz"] == before, "the same bytes whoever makes it"


def test_what_was_made_of_deleted_objects_stays_in_the_next_version() -> None:
    world = World()
    world.store_range(0, "a", "b")
    world.archive()
    key = ROOT + world.content.objects[0].name
    del world.store.objects[key]
    world.content = replace(world.content, objects=())
    for start, value, expected in ((50, "c", ["a", "b", "c"]), (60, "d", ["a", "b", "c", "d"])):
        world.store_range(start, value)
        world.archive()
        assert world.values() == expected
        told = json.loads(world.files()[".manifest.json"])
        names = [one["name"] for one in told["sources"]]
        assert len(told["missedPolls"]) == len(names), "that of the first record of each, also where it is gone"
        assert names == [
            f"1_0_{start:020d}.tar.gz" for start in (0, 50, 60) if start <= world.content.objects[-1].start
        ]


def test_a_folder_whose_objects_and_archive_were_deleted_gets_no_archive() -> None:
    world = World()
    world.store_range(0, "a")
    world.content = replace(world.content, number=2, objects=())
    world.archive()
    assert world.names == []


def test_long_values_above_the_date_are_cut_in_names_of_archives() -> None:
    names = []
    for value in ("%C3%B6" * 30 + "a", "%C3%B6" * 30 + "b", "ö" * 90):
        world = World(fields=["shop"])
        world.content = replace(world.content, path=f"prices/shop={value}/dt=2026-03-28/hr=00")
        world.store_range(0, "a")
        world.archive()
        names += [name.rpartition("/")[2] for name in world.names]
        assert 200 < len(names[-1].encode()) < 230
    assert len({*names}) == 3


def test_an_archive_whose_name_storages_do_not_take_is_refused() -> None:
    world = World(fields=["a", "b"])
    path = f"{'k' * 180}/a={'x' * 240}/b={'x' * 240}/dt=2026-03-28/hr=00"
    with pytest.raises(RefusedError, match=r"has no name: .* is longer than"):
        world.archive(replace(world.content, topic="t" * 249, path=path))


def test_a_hash_names_each_version_and_the_one_before_goes_last() -> None:
    world = World("hashed")
    world.store_range(0, "a")
    world.archive()
    (first,) = world.names
    world.store_range(50, "c")
    kept: list[list[str]] = []
    world.store.before_finish = lambda: kept.append(world.names)
    world.archive()
    (second,) = world.names
    assert (kept, first != second) == ([[first]], True)
    for name in (first, second):
        assert name.startswith(f"{ARCHIVE}_")
    world.store.objects[first] = world.store.objects[second][0], {"group": world.resource.group_id, "number": "1"}
    world.archive()
    assert world.names == [second], "what a process that was stopped has left"
    world.store_range(60, "c")  # a repeat: the same files, and another number
    world.archive()
    assert world.names == [second]


def test_a_version_that_another_process_deletes_meanwhile_is_none() -> None:
    world = World("hashed")
    world.store_range(0, "a")
    world.archive()
    (first,) = world.names
    listed = [*world.store.list_objects(ARCHIVE)]
    del world.store.objects[first]
    world.store_range(50, "b")
    cast("Any", world.store).list_objects = lambda _: iter(listed)
    world.archive()
    (second,) = (key for key in world.store.objects if key.startswith(ARCHIVE))
    assert second != first


def test_who_was_overtaken_while_it_wrote_takes_nothing_back() -> None:
    world, other = World(), World()
    world.store_range(0, "a")
    old = world.content
    world.store_range(50, "b")
    other.store = world.store

    def overtakes() -> None:
        world.store.before_finish = lambda: None
        other.archive(world.content)

    world.store.before_finish = overtakes
    with pytest.raises(NotTakenError, match="another process"):
        world.archive(old)
    assert world.values() == ["a", "b"]
    world.archive(old)  # told again, it finds the higher number
    assert world.values() == ["a", "b"]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda world: world.store.objects.pop(f"{ROOT}1_0_{0:020d}.tar.gz"), "is gone"),
        (
            lambda world: world.store.objects.update({f"{ROOT}1_0_{0:020d}.tar.gz": (b"\x1f\x8bx", {})}),
            "cannot be read",
        ),
        (lambda world: world.store.objects.update({f"{ARCHIVE}.tar.gz": (b"", {"group": "another"})}), "no archive of"),
    ],
)
def test_what_cannot_be_made_is_refused_and_leaves_what_is_there(spoil: Callable[[World], object], told: str) -> None:
    world = World()
    world.store_range(0, "a")
    spoil(world)
    before = dict(world.store.objects)
    with pytest.raises(RefusedError, match=told):
        world.archive()
    assert world.store.objects == before


def test_folders_of_other_formats_and_layouts_are_refused() -> None:
    world = World()
    world.store_range(0, "a")
    text = FolderObject(f"1_0_{50:020d}.txt.gz", 0, 1, 50, 1, 1)
    for path, objects, told in (
        (PATH, (*world.content.objects, text), "txt.gz in it is no archive"),
        ("dt=2026-03-28", world.content.objects, "no such archives now"),
    ):
        with pytest.raises(RefusedError, match=told):
            world.archive(FolderContent("clicks", path, world.content.end, 2, {0: 100}, objects))


def test_a_storage_that_is_away_is_asked_again() -> None:
    world = World()
    world.store_range(0, "a")

    def away() -> None:
        raise StorageError("unreachable", "away")

    world.store.before_finish = away
    with pytest.raises(StorageError, match="away"):
        world.archive()
    world.store.before_finish = lambda: None
    with suppress(NotTakenError):
        world.archive()
    assert world.values() == ["a"]


def test_losses_between_the_first_record_and_the_end_are_missing() -> None:
    world = World()
    world.store_range(10, "a")

    def loss(start: int, end: int, partition: int = 0, topic: str = "clicks") -> Loss:
        return Loss(Range(TopicPartition(topic, partition), start, end), None, "lost", 1, "abc")

    losses = [loss(0, 5), loss(7, 10), loss(20, 30), loss(100, 110), loss(20, 30, 1), loss(20, 30, topic="other")]
    assert missing(world.content, losses) == [
        {"partition": 0, "start": start, "end": end, "cause": "lost"} for start, end in ((7, 10), (20, 30))
    ]
