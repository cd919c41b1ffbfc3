"""What `verify` says of the archives in a copy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from logpersister.records.type_folders import folders_by_time
from logpersister.storage.copies import Copy
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import FolderContent
from logpersister.storage.store import ObjectStore
from logpersister.verify import copies
from logpersister.verify.copies import copy_findings
from logpersister.verify.findings import Finding, Kind
from tests.unit.finish.test_archiving import PATH
from tests.unit.finish.test_copying import COPIED, NAME, Copies, fails


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Copies:
    found = Copies()
    found.store_range(0, "a")
    found.archive()

    def noted(*_: object) -> tuple[FolderContent, str]:
        return replace(found.content, told={"archive": found.content.number}), ""

    monkeypatch.setattr(copies, "folder_content", noted)
    return found


def findings(world: Copies, number: int = 0, *, deep: bool = False) -> list[Finding]:
    layout = folders_by_time(world.resource.spec)
    assert layout is not None

    @contextmanager
    def using(copy: Copy) -> Iterator[ObjectStore]:
        with copy.named():
            yield copy.store

    store = world.store.store
    return [*copy_findings(store, world.resource.group_id, "clicks", layout, world.copies[number], using, deep=deep)]


@pytest.mark.parametrize("deep", [False, True])
def test_nothing_where_it_is_as_it_should_be(world: Copies, *, deep: bool) -> None:
    assert (findings(world, deep=deep), findings(world, 1, deep=deep)) == ([], [])


def changed(**metadata: str) -> Callable[[Copies], None]:
    def change(world: Copies) -> None:
        content, had = world.far.objects[COPIED]
        world.far.objects[COPIED] = content, {**had, **metadata}

    return change


def overwritten(world: Copies) -> None:
    content, metadata = world.far.objects[COPIED]
    world.far.objects[COPIED] = content[:-1] + b"x", metadata


@pytest.mark.parametrize(
    ("spoil", "deep", "told"),
    [
        (lambda world: world.far.objects.clear(), False, "lacks the archive"),
        (changed(number="7"), False, "has an archive of another number (7 instead of 1)"),
        (changed(group="another"), False, "has an archive of another group (another instead of clicks-backup)"),
        (lambda world: world.far.objects.update({COPIED: (b"x", world.far.objects[COPIED][1])}), False, "of 1 bytes"),
        (overwritten, False, None),
        (overwritten, True, "has another content"),
    ],
)
def test_it_says_what_a_copy_lacks_or_has_otherwise(
    world: Copies, spoil: Callable[[Copies], Any], told: str | None, *, deep: bool
) -> None:
    spoil(world)
    found = findings(world, deep=deep)
    assert [(one.kind, one.key) for one in found] == [(Kind.NOT_COPIED, NAME)] * (told is not None)
    assert all(one.is_problem and (told or "") in one.message for one in found)
    assert all(one.message.startswith("copy 1 (s3://far/far/away) ") for one in found)
    assert findings(world, 1, deep=deep) == [], "the other copy has it"


def test_nothing_is_said_of_a_folder_whose_archive_is_being_copied(world: Copies) -> None:
    world.far.objects.clear()
    world.content = replace(world.content, path=PATH, number=2)
    assert findings(world) == [], "the note tells of a number that the bucket does not have yet"


def test_an_error_names_the_copy(world: Copies) -> None:
    world.far.before_request = fails("unreachable")
    with pytest.raises(StorageError, match=r"copy 1 \(s3://far/far/away\): .*spec.storage.copies\[0\].endpoint"):
        findings(world)
