"""What a replay may yet write again is not judged."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from logpersister.plan.intents import CommittedOffset, stored
from logpersister.ranges import TopicPartition
from logpersister.storage.names import ObjectName
from logpersister.storage.replayed import ReplayNote
from logpersister.verify.evidence import StoredObject
from logpersister.verify.inventory import judged
from logpersister.verify.verification import Commits

NOTE = ReplayNote("t", "id", 2, "abc", {0: (0, 50), 1: (0, 50)})


def objects() -> Iterator[StoredObject]:
    for generation in (1, 2):
        for partition in (0, 1, 2):
            for start in (0, 20):
                name = ObjectName("t", partition, generation, start, "", "")
                yield StoredObject(f"{generation}/{partition}/{start}", name, 1, None, "group")


def keys(note: ReplayNote, committed: CommittedOffset | None) -> list[str]:
    asked: list[int] = []

    def commits_of(generation: int, partitions: Iterable[TopicPartition]) -> Commits:
        asked.append(generation)
        return {TopicPartition("t", 0): committed} if partitions else {}

    found = [one.key for one in judged([note], commits_of, objects)]
    assert asked == ([] if note.done else [2])
    return found


def test_objects_of_a_replay_count_up_to_where_its_group_is() -> None:
    of_others = [one.key for one in objects() if one.name.generation == 1 or one.name.partition == 2]
    assert keys(NOTE, None) == of_others
    assert sorted(keys(NOTE, stored(20, "id", 2))) == sorted([*of_others, "2/0/0"])
    behind = replace(NOTE, bounds={0: (0, 20), 1: (0, 20)})
    assert "2/0/20" in keys(behind, None), "the group may store behind a replay in its generation"
    assert keys(replace(NOTE, done=True), None) == [one.key for one in objects()]
