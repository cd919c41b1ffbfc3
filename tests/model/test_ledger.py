"""What the judge asks for of a replay that Kafka forgets."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from logpersister.ranges import Offset, TopicPartition
from tests.model.chronicle import Chronicle, Violation
from tests.model.ledger import Identity, Ledger, Log, ObjectKey, StoredObject

CLICKS, TOPIC_ID = TopicPartition("clicks", 0), "c000000000000000000001"
FINE = nullcontext()


class Group:
    """A group that has stored ten records in generation 1 and is set back to the eighth, to store them again."""

    def __init__(self) -> None:
        identity = Identity(CLICKS, TOPIC_ID)
        self._ledger = Ledger(Chronicle("a replay"), {identity: Log(0, 20, list(range(20)))})
        self.commit(1, 0)
        self.store(1, 0, 10)
        self.commit(1, 10)
        self._ledger.user_sets(identity, 7)
        self.commit(2, 7)

    def store(self, generation: int, start: Offset, end: Offset) -> None:
        records = frozenset((TOPIC_ID, offset) for offset in range(start, end))
        self._ledger.put(
            ObjectKey(CLICKS, generation, start, ""), None, StoredObject(end, f"r{generation}", TOPIC_ID, records)
        )

    def commit(self, generation: int, offset: Offset) -> None:
        self._ledger.commit(CLICKS, offset, f"lp1;o={offset};topic={TOPIC_ID};gen={generation};since=0")

    def forget(self) -> None:
        self._ledger.forgotten(CLICKS)


def broken() -> AbstractContextManager[object]:
    return pytest.raises(Violation, match="is in no object")


@pytest.mark.parametrize(("is_forgotten", "outcome"), [(False, broken()), (True, FINE)])
def test_a_replay_that_kafka_forgets_before_anything_of_it_is_stored_is_over(
    is_forgotten: bool, outcome: AbstractContextManager[object]
) -> None:
    group = Group()
    if is_forgotten:
        group.forget()
    with outcome:
        group.commit(1, 10)
    group.store(2, 10, 12)
    with broken():
        group.commit(2, 13)


@pytest.mark.parametrize(("hole", "outcome"), [(9, broken()), (10, FINE)])
def test_behind_what_a_replay_has_stored_it_goes_on(hole: Offset, outcome: AbstractContextManager[object]) -> None:
    group = Group()
    group.store(2, 8, hole)
    group.store(2, 10, 15)
    group.forget()
    with outcome:
        group.commit(2, 15)
