"""What is found of single ranges on a real S3 server."""

from collections.abc import Sequence

import pytest

from logpersister.ranges import TopicPartition
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import object_key
from logpersister.storage.ranges import SoughtRange, objects_of
from logpersister.storage.store import ObjectStore
from tests.integration.storage.writing import facts_of, metadata_of

CLICKS = TopicPartition("clicks", 0)


def put(store: ObjectStore, start: int, path: str = "", *, partition: int = 0, generation: int = 1) -> str:
    key = object_key("raw", "clicks", path, generation, partition, start, ".txt")
    metadata = metadata_of(start, partition=str(partition), generation=str(generation))
    store.writer(key, metadata, content_type="text/plain").finish(facts_of(start))
    return key


@pytest.mark.parametrize("paths", [("", "_quarantine"), None], ids=["in-folders", "anywhere"])
def test_the_objects_of_a_range_are_found_by_their_names(store: ObjectStore, paths: Sequence[str] | None) -> None:
    both = {put(store, 0), put(store, 0, "_quarantine")}
    elsewhere = put(store, 0, "dt=2026-11-21/hr=05")
    one = put(store, 200)
    put(store, 100)
    put(store, 0, partition=1)
    put(store, 0, generation=2)
    store.put_json("raw/clicks/1_0_00000000000000000000.txt.mine/x", {})
    found = objects_of(store, [SoughtRange(CLICKS, 1, start) for start in (0, 200, 300)], paths)
    assert {sought.start: set(stored) for sought, stored in found.items()} == {
        0: both | (set() if paths else {elsewhere}),
        200: {one},
    }
    facts = found[SoughtRange(CLICKS, 1, 200)][one]
    assert not isinstance(facts, ForeignObjectError)
    assert (facts.first, facts.range.start) == (200, 200)


def test_an_object_that_does_not_say_what_it_holds_is_found_too(store: ObjectStore) -> None:
    key = object_key("raw", "clicks", "", 1, 0, 0, ".txt")
    store.put_json(key, {})
    (stored,) = objects_of(store, [SoughtRange(CLICKS, 1, 0)], ("",)).values()
    assert "was not written by logpersister" in str(stored[key])
