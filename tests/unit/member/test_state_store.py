"""Where a member looks for objects behind an offset, and whose failures it reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from logpersister.member.state_store import BucketStateStore
from logpersister.storage.errors import StorageError
from logpersister.storage.names import object_key
from tests.unit.member.fakes import CLICKS, ORDERS


class Store:
    """Objects of two topics: new ones without folders, beside older ones in folders of days."""

    prefix = "raw"
    keys = tuple(
        object_key("raw", partition.topic, path, 1, 0, start, ".txt")
        for partition in (CLICKS, ORDERS)
        for path, start in (("", 100), ("dt=2026-11-20", 50))
    )

    def folders(self, prefix: str) -> Iterator[str]:
        below = {key[len(prefix) :].partition("/") for key in self.keys if key.startswith(prefix)}
        return (f"{prefix}{folder}/" for folder, slash, _ in sorted(below) if slash)

    def first_keys(self, prefix: str, *, start_after: str, most: int) -> list[str]:
        return [key for key in sorted(self.keys) if key.startswith(prefix) and key > start_after][:most]


def test_each_topic_is_looked_for_by_its_own_layout() -> None:
    """An override takes a topic out of folders: the folders that it had, or those of others, have nothing new of it."""
    store: Any = Store()
    state = BucketStateStore(store, "backup", 1, "0", lambda _: store, in_folders=lambda topic: topic == "orders")
    assert state.ahead({CLICKS: 100, ORDERS: 50}, 1) == {CLICKS: 100, ORDERS: 50}
    assert state.ahead({CLICKS: 101, ORDERS: 51}, 1) == {CLICKS: None, ORDERS: None}


class AwayStore:
    """A bucket that does not answer."""

    prefix = "raw"

    def __init__(self) -> None:
        self.storage = self
        self.place = "ours"

    def at(self, _place: str) -> Self:
        return self

    def __getattr__(self, _request: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise StorageError("timeout", "away")

        return fail

    @contextmanager
    def opened(self, _storage: object) -> Iterator[Any]:
        yield self


def test_failures_of_our_place_are_reported_and_those_of_another_are_not() -> None:
    store, failures = AwayStore(), list[StorageError]()
    bucket: Any = store
    elsewhere: Any = store.opened
    state = BucketStateStore(
        bucket, "backup", 1, "0", elsewhere, in_folders=lambda _: False, on_failure=failures.append
    )
    for ask in (lambda: state.stored_tails([CLICKS], 1), lambda: state.revision("0123456789ab", "ours")):
        with pytest.raises(StorageError):
            ask()
    assert isinstance(state.ahead({CLICKS: 1}, 1)[CLICKS], StorageError)
    assert len(failures) == 3
    with pytest.raises(StorageError):
        state.revision("0123456789ab", "theirs")
    assert len(failures) == 3
