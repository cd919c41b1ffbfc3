from collections.abc import Iterable, Mapping

from logpersister.group.answers import Answer, TopicDescription
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.ranges import Offset, TopicPartition
from logpersister.verify.evidence import StoredObject
from logpersister.verify.verification import Commits, TopicResult, Verification, VerifiedGroup
from tests.unit.verify.samples import CLICKS, GROUP, ID, committed, pending, stored_object
from tests.unit.verify.test_missing_offsets import Log

OBJECTS = [stored_object(0, 100), stored_object(100, 200)]


class Offsets:
    """Kafka as it answers one after another."""

    def __init__(self, *answers: CommittedOffset | UnknownMetadataError | None, error: Exception | None = None) -> None:
        self._answers = iter(answers)
        self._error = error

    def committed(self, partitions: Iterable[TopicPartition]) -> Commits:
        answer = next(self._answers)
        return dict.fromkeys(partitions, answer)

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer() if self._error else Answer(dict.fromkeys(partitions, 0))

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        if self._error:
            return Answer({}, dict.fromkeys(partitions, self._error))
        return Answer(dict.fromkeys(partitions, 1_000))

    def describe(self, topics: Iterable[str]) -> Mapping[str, TopicDescription]:
        return {topic: TopicDescription(ID, {0: 1}) for topic in topics}


def verify(offsets: Offsets, objects: list[StoredObject]) -> TopicResult:
    group = VerifiedGroup(GROUP, 1, from_earliest=True)
    return Verification(group, offsets, Log(), lambda _: objects, []).topic(CLICKS.topic, 1)


def test_totals_of_a_clean_topic() -> None:
    result = verify(Offsets(committed(200), committed(200)), OBJECTS)
    assert (result.partitions, result.objects, result.bytes, result.records) == (1, 2, 200, 200)
    assert (result.problems, result.notes, result.errors) == (0, 0, [])


def test_what_is_promised_and_not_committed_is_counted() -> None:
    result = verify(Offsets(pending(0, 100), pending(0, 100, 250)), [])
    assert (result.pending, result.begun, result.objects, result.findings) == (250, 1, 0, [])
    assert verify(Offsets(pending(0, 100), committed(200)), OBJECTS).pending == 0


def test_what_cannot_be_asked_is_an_error_and_never_clean() -> None:
    unreachable = verify(Offsets(committed(200), committed(200), error=OSError("no leader")), OBJECTS)
    assert (unreachable.errors, unreachable.findings) == (["clicks 0: OSError: no leader"], [])
    newer = verify(Offsets(UnknownMetadataError("a newer release"), committed(200)), OBJECTS)
    assert newer.errors == ["partition 0: a newer release"]
