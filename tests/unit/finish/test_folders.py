"""Which folders a topic has, and what is in them: levels above and below those by date, and what does not count."""

from typing import cast

import pytest

from logpersister.finish.folders import content_of, existing_folders
from logpersister.finish.positions import Positions
from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.ranges import Range, TopicPartition
from logpersister.records.time_folders import TimeFolders, time_folders
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.finished import FinishedTo, finish_to
from logpersister.storage.names import object_key
from logpersister.storage.store import ObjectStore
from tests.unit.finish.world import GROUP, HOUR_MS, MIDNIGHT_MS, RULES, TOPIC, TOPIC_ID, FakeStore, hour

OFFSET = PartitionRule.model_validate({"offset": {"every": 100}})


def layout(*rules: PartitionRule) -> TimeFolders:
    found = time_folders(rules)
    assert found is not None
    return found


def bucket(*paths: str) -> FakeStore:
    """Return a bucket with an object in each of these folders."""
    store = FakeStore()
    for path in paths:
        put(store, path)
    return store


def put(
    store: FakeStore, path: str, *, generation: int = 1, end: int = 10, group: str = GROUP, id_: str = TOPIC_ID
) -> str:
    range_ = Range(TopicPartition(TOPIC, 0), 0, end)
    key = object_key("raw", TOPIC, path, generation, 0, 0, ".txt")
    store.put_object(key, ObjectFacts(group, generation, "abcdef", id_, range_, 0, 0, 1, 0, "c"))
    return key.rpartition("/")[2]


def found(store: FakeStore, of: TimeFolders, *, after: int | None = None, until: int = 1 << 62) -> list[str]:
    return [one.path for one in existing_folders(cast("ObjectStore", store), TOPIC, of, after=after, until=until)]


def test_folders_above_each_have_their_own_and_folders_below_belong_to_them() -> None:
    paths = [f"offset={offset}/{hour(number)}/offset={offset}" for offset in (0, 100) for number in (3, 1)]
    store = bucket(*paths, "_quarantine", "offset=0/dt=unknown/hr=unknown", "other")
    assert found(store, layout(OFFSET, *RULES, OFFSET)) == [
        f"offset={offset}/{hour(number)}" for number in (1, 3) for offset in (0, 100)
    ]


def test_days_that_cannot_have_one_are_not_listed() -> None:
    store = bucket(*(hour(number) for number in range(0, 24 * 3, 12)))
    at = MIDNIGHT_MS + 36 * HOUR_MS
    assert found(store, layout(*RULES), after=at - HOUR_MS, until=at + HOUR_MS) == [hour(36)]
    assert store.listings == 2, "days, and the hours of one"


def test_a_server_that_refuses_every_replacement_is_told() -> None:
    store = FakeStore()
    finish_to(cast("ObjectStore", store), GROUP, TOPIC, FinishedTo(1))
    store.replace_json = lambda *_: False  # type: ignore[method-assign]
    with pytest.raises(StorageError, match="others keep changing it, or the server refuses puts with If-Match"):
        finish_to(cast("ObjectStore", store), GROUP, TOPIC, FinishedTo(2))


def test_what_counts_in_a_folder() -> None:
    """Committed objects of the group: of the generation of the register, of lower ones, and of a topic that is gone."""
    store, path = FakeStore(), hour(0)
    positions = Positions(TOPIC_ID, 0, {0: 0}, {0: 20}, {0: CommittedOffset(10, OffsetMetadata(TOPIC_ID, 2))})
    final = [put(store, path, generation=1, end=20), put(store, path, generation=2)]
    below = put(store, f"{path}/offset=0", generation=2)
    put(store, path, generation=3)
    put(store, hour(1))
    store.documents[f"raw/{TOPIC}/{path}/_SUCCESS"] = {}, "tag"
    content = content_of(cast("ObjectStore", store), GROUP, TOPIC, path, positions, {})
    assert [one.name for one in content.final] == [*final, f"offset=0/{below}"]
    assert [one.generation for one in content.pending] == [3]

    foreign = FakeStore()
    put(foreign, path, group="another")
    put(foreign, f"{path}/offset=0", end=20, id_="a topic before", generation=9)
    content = content_of(cast("ObjectStore", foreign), GROUP, TOPIC, path, positions, {})
    assert [one.generation for one in content.final] == [9]
    assert content.pending == ()
