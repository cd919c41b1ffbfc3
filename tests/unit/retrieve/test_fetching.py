"""Files are whole or not there: what is there already, what is damaged, replaced, deleted, or of others."""

import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from logpersister.retrieve.fetching import ATTEMPTS, Fetcher, Outcome
from logpersister.storage.errors import StorageError
from logpersister.storage.imprint import Imprint
from logpersister.storage.store import ObjectStore

KEY = "raw/clicks/1_0_0.txt"


class Store:
    """One object; `reads` is what each read of it gives, the last one again and again."""

    def __init__(self, *reads: bytes | StorageError, group: str = "backup", content: bytes = b"content") -> None:
        self.reads, self.count, self.group = reads or (content,), 0, group
        self.content: bytes | None = content

    def imprint(self, key: str) -> Imprint | None:
        if self.content is None:
            return None
        return Imprint(
            {"group": self.group}, len(self.content), hashlib.md5(self.content, usedforsecurity=False).hexdigest()
        )

    def read(self, key: str) -> Generator[bytes, None, None]:
        read = self.reads[min(self.count, len(self.reads) - 1)]
        self.count += 1
        yield b""
        if isinstance(read, StorageError):
            raise read
        yield read


def fetcher(store: Store) -> Fetcher:
    return Fetcher(cast("ObjectStore", store), "backup")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clicks" / "1_0_0.txt"


def files(file: Path) -> list[str]:
    return sorted(one.name for one in file.parent.glob("*")) if file.parent.exists() else []


@pytest.mark.parametrize("before", [None, b"conten", b"Content", b"something longer"])
def test_a_file_that_is_not_whole_is_fetched_and_then_no_more(file: Path, before: bytes | None) -> None:
    store = Store()
    file.parent.mkdir()
    (file.parent / f".{file.name}.part").write_bytes(b"of a command that was killed, longer than the object")
    if before is not None:
        file.write_bytes(before)
    assert fetcher(store).fetch(KEY, file).outcome is Outcome.FETCHED
    assert (file.read_bytes(), files(file), store.count) == (b"content", [file.name], 1)
    assert fetcher(store).fetch(KEY, file).outcome is Outcome.HAD
    assert store.count == 1


def test_what_was_read_wrongly_is_read_again(file: Path) -> None:
    gone = StorageError("rejected", "replaced", code="PreconditionFailed")
    store = Store(b"contents", gone, b"content")
    assert fetcher(store).fetch(KEY, file).outcome is Outcome.FETCHED
    assert (file.read_bytes(), store.count) == (b"content", 3)


def test_what_stays_damaged_leaves_no_file_and_stops_no_other(file: Path) -> None:
    store = Store(b"damaged")
    one = fetcher(store).fetch(KEY, file)
    assert (one.outcome, store.count, files(file)) == (Outcome.FAILED, ATTEMPTS, [])
    assert "is not what the storage says of it by size and checksum" in one.problem
    file.write_bytes(b"kept")
    assert fetcher(store).fetch(KEY, file).outcome is Outcome.FAILED
    assert file.read_bytes() == b"kept"
    archived = fetcher(Store(StorageError("rejected", "restore it", code="InvalidObjectState"))).fetch(KEY, file)
    assert (archived.outcome, archived.problem) == (Outcome.FAILED, "restore it")


def test_a_storage_that_is_away_ends_the_command_and_leaves_nothing_begun(file: Path) -> None:
    with pytest.raises(StorageError, match="away"):
        list(fetcher(Store(StorageError("unreachable", "away"))).fetch_each({KEY: file}, 2, lambda: None))
    assert files(file) == []


def test_objects_of_others_and_deleted_ones_are_left_out(file: Path) -> None:
    assert fetcher(Store(group="another")).fetch(KEY, file).outcome is Outcome.FOREIGN
    store = Store()
    store.content = None
    assert fetcher(store).fetch(KEY, file).outcome is Outcome.GONE
    assert files(file) == []


def test_many_at_once_and_an_end_before_all_are_there(tmp_path: Path) -> None:
    wanted = {f"{KEY}.{number}": tmp_path / str(number) for number in range(100)}
    of, ticks = fetcher(Store()), list[int]()
    found = list(of.fetch_each(wanted, 4, lambda: ticks.append(1)))
    assert ({one.key for one in found}, of.received) == (set(wanted), 700)
    assert len(list(tmp_path.iterdir())) == 100
    assert ticks
    stopped = fetcher(Store())
    generator = stopped.fetch_each({key: tmp_path / "new" / file.name for key, file in wanted.items()}, 4, lambda: None)
    next(generator)
    generator.close()
    assert 1 <= len(list((tmp_path / "new").iterdir())) < 100
