"""Which objects count: each offset in one generation, before and after any switches."""

import itertools
from collections.abc import Mapping
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.storage.current import NONE, Current, Segment, change_current, get_current, look_by_current
from logpersister.storage.errors import StorageError
from logpersister.storage.names import ObjectName
from logpersister.storage.notes import written
from tests.unit.replay.bucket import Bucket

MOST = 30
MEMBERS = 1
WHOLE = {0: (0, MOST)}
spans = st.tuples(st.integers(0, MOST), st.integers(0, MOST)).filter(lambda span: span[0] < span[1])
switches = st.lists(st.none() | st.tuples(st.integers(2, 4), spans), max_size=6)


def name(generation: int, start: int) -> ObjectName:
    return ObjectName("t", 0, generation, start, "", "")


def counting(current: Current, start: int) -> list[int]:
    return [generation for generation in (MEMBERS, 2, 3, 4, 5) if current.counts(name(generation, start))]


@given(switches)
def test_each_offset_counts_in_one_generation(steps: list[tuple[int, tuple[int, int]] | None]) -> None:
    current = Current("id", {}, {})
    for generation in (2, 3, 4, 5):
        current = current.begun("id", generation, WHOLE)
    expected = dict.fromkeys(range(MOST), MEMBERS)
    for step in steps:
        if step is None:
            current, expected = current.switched_back(), dict.fromkeys(range(MOST), MEMBERS)
        else:
            generation, span = step
            current = current.switched(generation, {0: span})
            expected |= dict.fromkeys(range(*span), generation)
    assert {start: counting(current, start) for start in range(MOST)} == {at: [it] for at, it in expected.items()}
    segments = current.partitions.get(0, ())
    assert all(before.end <= after.start for before, after in itertools.pairwise(segments))


def test_members_may_change_their_generation_outside_of_segments() -> None:
    current = Current("id", {}, {}).begun("id", 2, {0: (10, 20)}).switched(2, {0: (10, 20)})
    assert [current.counts(name(generation, 20)) for generation in (1, 2, 3)] == [True, True, True]
    assert [current.counts(name(generation, 10)) for generation in (1, 2, 3)] == [False, True, False]


def test_what_is_deleted_is_noted_until_the_topic_is_another() -> None:
    current = Current("id", {}, {}).switched(2, {0: (0, 10), 1: (5, 9)}).without_old()
    current = current.switched(3, {0: (10, 20)}).without_old().switched(4, {0: (30, 40)}).without_old()
    assert current.deleted == {0: ((0, 20), (30, 40)), 1: ((5, 9),)}
    assert current.about("id") == current
    assert current.about("other") == Current("other", {}, {})
    assert "deleted" not in written(current.about("other"))


def test_another_topic_of_the_name_has_no_segments() -> None:
    current = Current("id", {}, {}).begun("id", 2, WHOLE).switched(2, {0: (0, 5)})
    assert current.begun("id", 3, WHOLE).partitions == current.partitions
    assert current.begun("other", 3, WHOLE) == Current("other", {2: WHOLE, 3: WHOLE}, {})


class Contested(Bucket):
    """A bucket in which others replace the document before the first puts."""

    def __init__(self, overtaken: int) -> None:
        super().__init__()
        self.generations = iter(range(7, 7 + overtaken))

    def replace_json(self, key: str, document: Mapping[str, object], tag: str | None) -> bool:
        for generation in itertools.islice(self.generations, 1):
            self.put_json(key, written(Current("id", {}, {}).begun("id", generation, WHOLE)))
        return super().replace_json(key, document, tag)


def test_a_change_is_made_of_what_stands_there() -> None:
    store = Contested(overtaken=2).store
    assert get_current(store, "group", "t") == NONE
    found = change_current(
        store, "group", "t", lambda current: current.begun("id", 2, {0: (1, 4)}).switched(2, {0: (1, 4)})
    )
    assert found == get_current(store, "group", "t")
    assert found == Current("id", {8: WHOLE, 2: {0: (1, 4)}}, {0: (Segment(1, 4, 2),)})


def test_one_who_is_always_overtaken_gives_up() -> None:
    store = Contested(overtaken=100).store
    with pytest.raises(StorageError, match="others keep changing it"):
        change_current(store, "group", "t", lambda current: current.begun("id", 2, WHOLE))


@pytest.mark.parametrize("changes", [0, 2, 100])
def test_who_lists_while_the_document_changes_lists_again(changes: int) -> None:
    store, looked = Bucket().store, list[Current]()

    def look(current: Current) -> Current:
        looked.append(current)
        if len(looked) <= changes:
            change_current(store, "group", "t", lambda now: now.begun("id", len(looked), WHOLE))
        return current

    with pytest.raises(StorageError, match="others keep changing it") if changes == 100 else nullcontext():
        assert look_by_current(store, "group", "t", look) == get_current(store, "group", "t")
        assert [len(current.replays) for current in looked] == [*range(changes + 1)]


def test_what_is_no_such_document_is_told() -> None:
    bucket = Bucket()
    document = {"topicId": None, "replays": {}, "partitions": {"0": [{"start": 1}]}}
    bucket.put_json("raw/_logpersister/group/current/t.json", document)
    with pytest.raises(StorageError, match="is not the document which generation counts"):
        get_current(bucket.store, "group", "t")
