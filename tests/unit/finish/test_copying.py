"""Copies of archives: the same bytes in each store, whoever dies or sleeps; a copy that is away; what only it has."""

from collections.abc import Callable
from itertools import count

import pytest

from logpersister.finish.archiving import Archiver
from logpersister.finish.copying import CopyError
from logpersister.finish.telling import Message, NotTakenError, RefusedError
from logpersister.storage.copies import Copy
from logpersister.storage.errors import StorageError, StorageErrorKind
from tests.unit.finish.test_archiving import ARCHIVE, PATH, ROOT, World
from tests.unit.replay.bucket import Bucket, KilledError

NAME = f"{ARCHIVE}.tar.gz"
COPIED = NAME.replace("raw/", "far/away/", 1)
MARKER = f"{ROOT}_SUCCESS"


def fails(kind: StorageErrorKind) -> Callable[[], None]:
    def request() -> None:
        raise StorageError(kind, f"bucket of it is {kind}; check spec.storage.endpoint")

    return request


def works() -> None:
    """Let requests pass."""


class Copies(World):
    """A folder, and two copies: one in another place, one below the same prefix of another bucket."""

    def __init__(self, naming: str = "primary") -> None:
        super().__init__(naming)
        self.far, self.near = Bucket(name="far", prefix="far/away"), Bucket(name="near")
        self.copies = [Copy(at, one.store) for at, one in enumerate((self.far, self.near), 1)]

    @property
    def stores(self) -> list[Bucket]:
        return [self.store, self.far, self.near]

    def archives(self) -> list[dict[str, tuple[bytes, object]]]:
        """Return the archives of each store, by their names behind its prefix."""
        return [
            {key.removeprefix(f"{one.prefix}/"): found for key, found in one.objects.items() if "/_archives/" in key}
            for one in self.stores
        ]

    def are_equal(self) -> bool:
        first, *others = self.archives()
        return bool(first) and all(one == first for one in others)


@pytest.mark.parametrize("naming", ["primary", "hashed"])
def test_each_version_is_in_all_stores_before_the_folder_counts_as_finished(naming: str) -> None:
    world = Copies(naming)
    for start in (0, 50):
        world.store_range(start, f"{start}")
        world.near.before_finish = lambda: (_ for _ in ()).throw(KilledError) if MARKER in world.store.objects else None
        world.archive()
        world.store.objects.pop(MARKER)
        assert world.are_equal()
        assert len(world.archives()[1]) == 1, "the version before is gone"
    assert [key.startswith("far/away/") for key in world.far.objects] == [True]


def test_who_repeats_it_writes_nothing_and_reads_no_archive() -> None:
    world = Copies()
    world.store_range(0, "a")
    world.archive()
    before = [dict(one.objects) for one in world.stores]
    for one in world.stores:
        one.before_finish = fails("other")
        one.read = None  # type: ignore[assignment,method-assign]
    world.archive()
    assert [one.objects for one in world.stores] == before


@pytest.mark.parametrize("naming", ["primary", "hashed"])
def test_whoever_dies_at_any_request_is_followed_by_one_that_ends_it(naming: str) -> None:
    whole = Copies(naming)
    whole.store_range(0, "a")
    whole.archive()
    whole.store_range(50, "b")
    whole.archive()
    for number in count(1):
        world = Copies(naming)
        world.store_range(0, "a")
        world.archive()
        world.store_range(50, "b")
        left = [number]

        def request(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise KilledError

        for one in world.stores:
            one.before_request = request
        try:
            world.archive()
        except KilledError:
            for one in world.stores:
                one.before_request = works
            world.archive()
        assert world.archives() == whole.archives()
        if left[0] > 0:
            break
    assert number > 15


def test_a_copy_that_is_away_keeps_no_other_store_waiting_and_is_asked_once() -> None:
    world, asked = Copies(), list[int]()
    folders = []
    for hour in ("00", "01", "02"):
        path = PATH.replace("hr=00", f"hr={hour}")
        world.content = world.content.__class__("clicks", path, world.content.end, 0, {0: 100}, ())
        world.store_range(0, hour)
        folders.append(world.content)

    def away() -> None:
        asked.append(1)
        fails("unreachable")()

    world.far.before_request = away
    with Archiver(world.store.store, world.resource, world.copies).session() as send:
        for content in folders:
            told = r"copy 1 \(s3://far/far/away\): bucket of it is unreachable; check spec.storage.copies\[0\].endpoint"
            with pytest.raises(CopyError, match=told):
                send(Message("id", f"clicks/{content.path}", content.number, b"{}", content))
    primary, far, near = world.archives()
    assert (len(primary), primary == near, far, len(asked)) == (3, True, {}, 1)
    assert not [key for key in world.store.objects if key.endswith("_SUCCESS")]
    world.far.before_request = works
    for content in folders:
        world.archive(content)
    assert world.are_equal()
    assert len([key for key in world.store.objects if key.endswith("_SUCCESS")]) == 3


def test_a_copy_that_refuses_one_object_is_asked_for_the_next() -> None:
    world = Copies()
    world.store_range(0, "a")
    world.far.before_request = fails("rejected")
    with Archiver(world.store.store, world.resource, world.copies).session() as send:
        of = Message("id", f"clicks/{PATH}", 1, b"{}", world.content)
        with pytest.raises(CopyError):
            send(of)
        world.far.before_request = works
        send(of)
    assert world.are_equal()


def test_who_has_slept_takes_nothing_back_in_a_copy() -> None:
    world, other = Copies(), Copies()
    world.store_range(0, "a")
    old = world.content
    world.archive()
    world.far.objects.clear()  # the one who sleeps has found nothing there
    world.store_range(50, "b")
    other.store, other.copies = world.store, world.copies

    def overtakes() -> None:
        world.far.before_finish = works
        other.archive(world.content)

    world.far.before_finish = overtakes
    with pytest.raises(NotTakenError, match="another process"):
        world.archive(old)
    assert world.are_equal()
    world.archive(old)
    assert world.are_equal()
    assert world.values() == ["a", "b"]


def test_what_only_a_copy_has_left_is_in_the_next_version() -> None:
    world = Copies()
    world.store_range(0, "a", "b")
    world.archive()
    world.store.objects.clear()  # a lifecycle rule
    world.near.objects.clear()
    world.content = world.content.__class__("clicks", PATH, world.content.end, 1, {0: 100}, ())
    world.store_range(50, "c")
    world.far.before_request = fails("unreachable")
    with pytest.raises(CopyError):
        world.archive()
    assert world.names == [], "without the copy nobody knows what there was"
    world.far.before_request = works
    world.archive()
    assert world.values() == ["a", "b", "c"]
    assert world.are_equal()


def test_an_archive_that_the_primary_store_has_damaged_is_not_copied() -> None:
    world = Copies()
    world.store_range(0, "a")
    world.far.before_request = fails("unreachable")
    with pytest.raises(CopyError):
        world.archive()
    world.far.before_request, imprint = works, world.store.imprint(NAME)
    content, metadata = world.store.objects[NAME]
    world.store.objects[NAME] = content[:-1] + b"x", metadata
    world.store.imprint = lambda _: imprint  # type: ignore[method-assign,assignment]
    with pytest.raises(NotTakenError, match="is damaged"):
        world.archive()
    del world.store.objects[NAME]
    with pytest.raises(NotTakenError, match=r"cannot be read: .* is gone"):
        world.store.list_objects, key = lambda _: iter([listed]), NAME  # type: ignore[method-assign,assignment]
        listed = next(world.near.list_objects(key))
        world.archive()
    assert COPIED not in world.far.objects


def test_what_others_have_in_a_copy_is_left_alone() -> None:
    world = Copies()
    world.store_range(0, "a")
    world.far.objects[COPIED] = b"", {"group": "another"}
    with pytest.raises(RefusedError, match="no archive of this group"):
        world.archive()
    assert world.far.objects[COPIED] == (b"", {"group": "another"})


def test_what_was_deleted_in_all_stores_is_not_copied_back() -> None:
    world = Copies()
    world.store_range(0, "a")
    world.archive()
    for one in world.stores:
        one.objects.clear()
    world.content = world.content.__class__("clicks", PATH, world.content.end, 2, {0: 100}, ())
    world.archive()
    assert world.archives() == [{}, {}, {}]
