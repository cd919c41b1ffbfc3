"""Where a member looks for objects behind an offset."""

from collections.abc import Iterator
from typing import Any

from logpersister.member.state_store import BucketStateStore
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
