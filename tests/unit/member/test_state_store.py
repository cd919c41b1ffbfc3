"""Where a member looks for objects behind an offset, and whose failures it reports."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from logpersister.member import state_store
from logpersister.member.state_store import BucketStateStore
from logpersister.plan.recovery import ReplayedEnd, StoredTail
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.names import object_key
from logpersister.storage.replayed import ReplayNote, begin_replay
from tests.unit.member.fakes import CLICKS, ORDERS
from tests.unit.replay.bucket import Bucket


def test_each_topic_is_looked_for_by_its_own_layout() -> None:
    """An override takes a topic out of folders: the folders that it had, or those of others, have nothing new of it."""
    bucket = Bucket()
    for topic in (CLICKS.topic, ORDERS.topic):
        for path, start in (("", 100), ("dt=2026-11-20", 50)):
            bucket.put_marker(object_key("raw", topic, path, 1, 0, start, ".txt"))
    store = bucket.store
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


NAMES = {"group": "backup", "revision": "abc", "topic": "clicks", "topic-id": "id", "partition": "0", "checksum": "0"}
REPLAYED = ReplayNote("clicks", "id", 2, "abc", {0: (100, 300)})


@pytest.fixture
def bucket() -> Bucket:
    """Members have stored up to 400, the last of it in the generation of a replay that is under way."""
    found = Bucket()
    for generation, start in ((1, 100), (1, 200), (2, 100), (2, 300)):
        of_range = {"generation": str(generation), "start": str(start), "end": str(start + 100)}
        content = {"first": str(start), "last": str(start + 99), "records": "100", "tombstones": "0"}
        metadata = {**NAMES, **of_range, **content}
        found.objects[object_key("raw", "clicks", "", generation, 0, start, ".txt")] = (b"", metadata)
    begin_replay(found.store, "backup", REPLAYED)
    return found


def state_of(store: Any, replay: dict[TopicPartition, Range] | None = None) -> BucketStateStore:
    return BucketStateStore(store, "backup", 2, "abc", lambda _: store, in_folders=lambda _: False, replay=replay)


def tail_of(state: BucketStateStore) -> tuple[int, list[int], tuple[ReplayedEnd, ...]]:
    found = state.stored_tails([CLICKS], 2)[CLICKS]
    assert isinstance(found, StoredTail)
    return found.generation, [range_.start for range_ in found.ranges], found.replays


def test_a_group_and_its_replay_in_one_generation_go_by_their_own_objects(bucket: Bucket) -> None:
    assert tail_of(state_of(bucket.store)) == (2, [300], (ReplayedEnd(2, 300, "id"),))
    replay = state_of(bucket.store, {CLICKS: Range(CLICKS, 100, 300)})
    assert tail_of(replay) == (2, [100], ())
    assert replay.ahead({CLICKS: 200}, 2) == {CLICKS: None}, "what the group has stored behind it is no conflict"
    assert replay.ahead({CLICKS: 100}, 2) == {CLICKS: 100}


def test_a_group_stores_nothing_that_a_replay_stores_later_in_its_generation(bucket: Bucket) -> None:
    del bucket.objects[object_key("raw", "clicks", "", 2, 0, 300, ".txt")]
    state = state_of(bucket.store)
    assert [state.ahead({CLICKS: position}, 2)[CLICKS] for position in (50, 150, 300)] == [100, 150, None]


def test_a_replay_that_has_stored_nothing_begins_though_its_group_is_far_ahead(bucket: Bucket) -> None:
    del bucket.objects[object_key("raw", "clicks", "", 2, 0, 100, ".txt")]
    assert tail_of(state_of(bucket.store, {CLICKS: Range(CLICKS, 100, 300)})) == (2, [], ())


def test_a_replay_that_begins_during_the_listing_tells_nothing(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its note is put before its first object, so it is seen at least behind the listing."""
    del bucket.objects[object_key("raw", "clicks", "", 2, 0, 300, ".txt")]
    notes = iter([[], [REPLAYED], [REPLAYED]])
    monkeypatch.setattr(state_store, "list_replayed", lambda *_: next(notes))
    assert tail_of(state_of(bucket.store)) == (1, [100, 200], (ReplayedEnd(2, 300, "id"),))
