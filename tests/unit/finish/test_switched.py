"""Folders that a switch between generations has changed are made known again, by what counts."""

from collections.abc import Mapping

from logpersister.finish.folders import content_of
from logpersister.finish.positions import Positions
from logpersister.finish.switched import note_switch
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from logpersister.storage.current import Current, change_current
from logpersister.storage.finished import list_arrivals, read_arrivals
from logpersister.storage.names import object_key
from tests.unit.manifest.documents import spec_with
from tests.unit.replay.bucket import Bucket

GROUP, TOPIC, BOUNDS = "group", "clicks", {0: (0, 20)}
SPEC = spec_with(
    output={"text": {}, "partitionBy": [{"date": {"granularity": "day"}}]}, finish={"policy": ["manifest"]}
)
REPLAYED = Current("id", {2: BOUNDS}, {})
COMMITTED = Positions("id", 0, {0: 0}, {0: 40}, {0: CommittedOffset(40, OffsetMetadata("id", 1))})


def facts(generation: int, start: int) -> Mapping[str, str]:
    told = {"start": start, "end": start + 10, "first": start, "last": start + 9, "generation": generation}
    numbers = {"partition": 0, "records": 10, "tombstones": 0}
    names = {"group": GROUP, "revision": "abc", "topic": TOPIC, "topic-id": "id", "checksum": "0"}
    return names | {name: str(value) for name, value in {**told, **numbers}.items()}


def stored(*objects: tuple[int, int, str]) -> Bucket:
    """Return a bucket with objects by generation, start and path."""
    keys = ((object_key("raw", TOPIC, path, g, 0, start, ".txt"), facts(g, start)) for g, start, path in objects)
    return Bucket({key: (b"", of_object) for key, of_object in keys})


DAY, OTHER, LATER = "dt=2026-11-21", "dt=2026-11-22", "dt=2026-11-25"
OBJECTS = [(1, 0, DAY), (1, 10, DAY), (1, 20, DAY), (1, 30, LATER), (2, 0, DAY), (2, 10, OTHER), (2, 10, "_quarantine")]


def test_a_finished_folder_has_what_counts() -> None:
    bucket = stored(*OBJECTS)

    def starts(path: str) -> list[tuple[int, int]]:
        found = content_of(bucket.store, GROUP, TOPIC, path, COMMITTED, {})
        assert found.pending == ()
        return [(one.generation, one.start) for one in found.final]

    change_current(bucket.store, GROUP, TOPIC, lambda _: REPLAYED)
    assert (starts(DAY), starts(OTHER)) == ([(1, 0), (1, 10), (1, 20)], [])
    change_current(bucket.store, GROUP, TOPIC, lambda _: REPLAYED.switched(2, BOUNDS))
    assert (starts(DAY), starts(OTHER)) == ([(1, 20), (2, 0)], [(2, 10)])


def test_the_folders_of_a_replay_are_noted_once() -> None:
    bucket = stored(*OBJECTS)
    for _ in range(2):
        assert note_switch(bucket.store, GROUP, TOPIC, SPEC, REPLAYED) == 2
    ((_, arrival),) = read_arrivals(bucket.store, list_arrivals(bucket.store, GROUP)[TOPIC])
    assert (arrival.folders, arrival.generation, arrival.range.end) == ((DAY, OTHER), 0, 20)
    assert note_switch(bucket.store, GROUP, TOPIC, spec_with(), REPLAYED) == 0
