"""What a replay stores again: planned from what Kafka, the group and the buckets have, and noted once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

import pytest

from logpersister.backup.listing import TopicBackup
from logpersister.backup.ranges import BackupObject, Explained, PartitionBackup, partition_backups
from logpersister.group.answers import Answer, Registered, TopicDescription
from logpersister.group.offsets import OffsetReader
from logpersister.plan.intents import CommittedOffset, Intent, promised, stored
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.replay.moments import BackupMoments
from logpersister.replay.planning import Planner, ReplayError, Wish
from logpersister.storage.current import change_current, get_current
from logpersister.storage.names import object_key
from logpersister.storage.replayed import end_replay, get_replay
from tests.unit.replay.bucket import Bucket

P = TopicPartition("t", 0)
MINUTE = 60_000


def bucket_with(starts: Iterable[tuple[int, Offset]] = ()) -> Bucket:
    """Return a bucket with ranges of partition 0, by generation and start."""
    keys = (object_key("raw", "t", "", generation, 0, start, ".txt") for generation, start in starts)
    return Bucket({key: (b"", {}) for key in keys})


@dataclass
class FakeKafka:
    """A topic with one partition, whose offsets are minutes, and what its group has committed."""

    committed_offset: Registered
    log_start: Offset = 0
    topic_id: str | None = "id"
    error: Exception | None = None
    progress: Registered = None
    """What the group of the replay has committed."""

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        return {topic: TopicDescription(self.topic_id, {0: 1}) for topic in topics if topic == "t"}

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        if self.error is not None:
            return Answer({}, dict.fromkeys(partitions, self.error))
        return Answer(dict.fromkeys(partitions, self.log_start))

    def committed(
        self, partitions: Iterable[TopicPartition], group: str | None = None
    ) -> dict[TopicPartition, Registered]:
        assert group in (None, "group-replay-2", "group-replay-3")
        return dict.fromkeys(partitions, self.committed_offset if group is None else self.progress)

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        found = {p: max(self.log_start, moment // MINUTE) for p, moment in timestamps.items()}
        return Answer({p: (offset, offset * MINUTE) if offset < 100 else None for p, offset in found.items()})


class FakeMoments:
    """Objects of a backup begin at their first minute."""

    def before(self, backup: PartitionBackup, moment: int) -> Offset:
        return max([backup.start, *(p.range.start for p in backup.pieces if p.range.start * MINUTE < moment)])

    def behind(self, backup: PartitionBackup, moment: int) -> Offset:
        return min([backup.end, *(p.range.start for p in backup.pieces if p.range.start * MINUTE >= moment)])


def committed(offset: Offset, generation: int = 1) -> Registered:
    return stored(offset, "id", generation)


def backup(
    *spans: tuple[Offset, Offset], topic_id: str | None = "id", lost: tuple[int, int] | None = None
) -> TopicBackup:
    objects = [BackupObject(f"{a}", Range(P, a, b), 1, b - a, a, b - 1) for a, b in spans]
    notes = [] if lost is None else [Explained(Range(P, *lost), 1, is_lost=True)]
    return TopicBackup(topic_id, 1, partition_backups(objects, notes))


def planner(
    bucket: Bucket, kafka: FakeKafka, *, of_backup: bool = False, from_kafka: bool = True, revision: str = "abc"
) -> Planner:
    moments = cast("BackupMoments", FakeMoments()) if of_backup else None
    store, offsets = bucket.store, cast("OffsetReader", kafka)
    return Planner(store, "group", 2, revision, offsets, moments, kafka=from_kafka)


STORED = [(1, 0), (1, 20), (1, 40)]


@pytest.mark.parametrize(
    ("wish", "span"),
    [
        (Wish(), (0, 50)),
        (Wish(since=25 * MINUTE), (20, 50)),
        (Wish(since=20 * MINUTE, until=30 * MINUTE), (20, 40)),
        (Wish(until=45 * MINUTE), (0, 50)),
    ],
)
def test_what_kafka_has_is_stored_again_in_whole_ranges(wish: Wish, span: tuple[int, int]) -> None:
    found = planner(bucket_with(STORED), FakeKafka(committed(50))).plan("t", None, wish)
    assert (found.note.bounds, found.resumes) == ({0: span}, False)


def test_there_is_nothing_to_store_again_behind_the_group() -> None:
    found = planner(bucket_with(STORED), FakeKafka(committed(50))).plan("t", None, Wish(since=60 * MINUTE))
    assert found.note.bounds == {}
    assert planner(bucket_with(), FakeKafka(None)).plan("t", None, Wish()).note.bounds == {}


@pytest.mark.parametrize(
    ("wish", "span"),
    [(Wish(), (0, 50)), (Wish(since=15 * MINUTE, until=25 * MINUTE), (0, 40)), (Wish(until=MINUTE), (0, 20))],
)
def test_a_backup_reaches_behind_kafka(wish: Wish, span: tuple[int, int]) -> None:
    made = planner(bucket_with(STORED), FakeKafka(committed(50), log_start=45), of_backup=True)
    found = made.plan("t", backup((0, 10), (10, 30), (30, 48)), wish)
    assert (found.note.bounds, found.deleted) == ({0: span}, {0: 45})


def test_without_a_backup_a_replay_begins_where_kafka_does() -> None:
    kafka = FakeKafka(committed(50), log_start=15)
    assert planner(bucket_with(STORED), kafka).plan("t", None, Wish()).note.bounds == {0: (20, 50)}
    with pytest.raises(ReplayError, match="begins at 0, and the source at 15"):
        planner(bucket_with(STORED), kafka).plan("t", None, Wish(since=10 * MINUTE))


@pytest.mark.parametrize(("lost", "hole"), [(None, "[10,20)"), ((12, 20), "[10,12)")])
def test_a_hole_is_told_before_anything_is_written(lost: tuple[int, int] | None, hole: str) -> None:
    bucket = bucket_with(STORED)
    made = planner(bucket, FakeKafka(committed(50), log_start=30), of_backup=True)
    with pytest.raises(ReplayError) as raised:
        made.plan("t", backup((0, 10), (20, 50), lost=lost), Wish())
    assert f"no object of the backup has t-0{hole}" in str(raised.value)
    assert bucket.objects == bucket_with(STORED).objects


@pytest.mark.parametrize(
    ("spans", "hole", "is_late"), [([(0, 48)], r"\[48,50\)", True), ([(0, 40), (48, 50)], r"\[40,48\)", False)]
)
def test_the_backup_alone_must_have_all_of_it(spans: list[tuple[int, int]], hole: str, is_late: bool) -> None:
    made = planner(bucket_with(STORED), FakeKafka(committed(50)), of_backup=True, from_kafka=False)
    with pytest.raises(ReplayError, match=rf"has t-0{hole}, of which it should be read") as raised:
        made.plan("t", backup(*spans), Wish())
    assert ("the backup may be late: repeat this" in str(raised.value)) == raised.value.passes == is_late


@pytest.mark.parametrize(
    ("kafka", "told"),
    [
        (FakeKafka(committed(50, generation=2)), "2 must be higher than 2"),
        (FakeKafka(committed(50), error=TimeoutError("no answer")), "does not say where it begins: no answer"),
        (FakeKafka(committed(50), topic_id="other"), "the backup is of an earlier topic"),
    ],
)
def test_what_cannot_be_replayed_is_said(kafka: FakeKafka, told: str) -> None:
    with pytest.raises(ReplayError, match=told):
        planner(bucket_with(STORED), kafka, of_backup=True).plan("t", backup((0, 50)), Wish())


def test_a_topic_that_kafka_does_not_have_is_said() -> None:
    with pytest.raises(ReplayError, match="topic other: Kafka does not describe it"):
        planner(bucket_with(), FakeKafka(committed(50))).plan("other", None, Wish())


def test_a_replay_goes_on_as_it_was_begun() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    begun = planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish()))
    kafka.committed_offset = committed(90)
    again = planner(bucket, kafka).plan("t", None, Wish(since=30 * MINUTE))
    assert (again.note, again.resumes) == (begun.note, True)
    store = bucket.store
    assert get_current(store, "group", "t").replays == {2: {0: (0, 50)}}
    with pytest.raises(ReplayError, match="was begun by another manifest"):
        planner(bucket, kafka, revision="def").plan("t", None, Wish())
    kafka.topic_id = "new"
    with pytest.raises(ReplayError, match="is the replay of an earlier topic"):
        planner(bucket, kafka).plan("t", None, Wish())


def test_of_two_that_begin_at_once_one_is_noted() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    early, late = (
        planner(bucket, kafka).plan("t", None, Wish()),
        planner(bucket, kafka).plan("t", None, Wish(20 * MINUTE)),
    )
    assert planner(bucket, kafka).begin(early).note == planner(bucket, kafka).begin(late).note == early.note


def test_holes_do_not_matter_to_a_replay_that_has_ended() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    planned = planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish()))
    store = bucket.store
    end_replay(store, "group", planned.note)
    kafka.log_start = 49
    again = planner(bucket, kafka).plan("t", None, Wish())
    assert again.note == replace(planned.note, done=True) == get_replay(store, "group", "t", 2)


def test_holes_do_not_matter_where_a_replay_has_been() -> None:
    """It was killed behind its last commit, and Kafka has deleted all since."""
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    planned = planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish()))
    kafka.log_start, kafka.progress = 50, stored(40, "id", 2)
    with pytest.raises(ReplayError, match=r"Kafka has deleted t-0\[40,50\)"):
        planner(bucket, kafka).plan("t", None, Wish())
    kafka.progress = stored(50, "id", 2)
    assert planner(bucket, kafka).plan("t", None, Wish()).note == planned.note


def test_bounds_are_where_ranges_of_earlier_replays_meet_too() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish(20 * MINUTE, 40 * MINUTE)))
    bucket.objects |= bucket_with([(2, 20), (2, 33)]).objects
    third = Planner(bucket.store, "group", 3, "abc", cast("OffsetReader", kafka), None, kafka=True)
    assert third.plan("t", None, Wish(since=35 * MINUTE)).note.bounds == {0: (20, 50)}


def test_a_replay_keeps_away_from_what_another_one_has_yet_to_store() -> None:
    """Its ranges are not known before: one could begin on this side of a bound and end on the other."""
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish()))
    third = Planner(bucket.store, "group", 3, "abc", cast("OffsetReader", kafka), None, kafka=True)
    wish = Wish(since=20 * MINUTE, until=30 * MINUTE)
    assert third.plan("t", None, wish).note.bounds == {0: (0, 50)}
    bucket.objects[object_key("raw", "t", "", 2, 0, 20, ".txt")] = (b"", {})
    assert third.plan("t", None, wish).note.bounds == {0: (20, 50)}


@pytest.mark.parametrize(
    ("progress", "is_refused"),
    [
        (committed(50), True),
        (promised(Intent(P, "id", 0, (10,), "abc", 2)), True),
        (stored(0, "id", 2), False),
        (stored(50, "earlier", 2), False),
        (CommittedOffset(50, None), True),
    ],
)
def test_the_progress_of_a_replay_into_another_place_is_none_of_this_one(
    progress: CommittedOffset, is_refused: bool
) -> None:
    kafka, bucket = FakeKafka(committed(50), progress=progress), bucket_with(STORED)
    if is_refused:
        with pytest.raises(ReplayError, match="another bucket or prefix, or its note was deleted; raise spec"):
            planner(bucket, kafka).plan("t", None, Wish())
    else:
        planner(bucket, kafka).plan("t", None, Wish())
    begun = planner(bucket, FakeKafka(committed(50)))
    begun.begin(begun.plan("t", None, Wish()))
    assert planner(bucket, kafka).plan("t", None, Wish()).resumes


def test_objects_of_members_are_never_taken_for_those_of_a_replay() -> None:
    with pytest.raises(ReplayError, match="topic t has objects of 2, which are of no replay"):
        planner(bucket_with([*STORED, (2, 20)]), FakeKafka(committed(50))).plan("t", None, Wish())


@pytest.mark.parametrize(
    ("committed_offset", "told"),
    [
        (CommittedOffset(30, None), "the committed offset 30 is set by a user or a tool"),
        (stored(30, "earlier", 1), "the committed offset 30 is of an earlier topic"),
        (None, "members have stored it, and no offset is committed"),
    ],
)
def test_a_replay_ends_nowhere_that_is_not_known_to_be_between_ranges(committed_offset: Registered, told: str) -> None:
    with pytest.raises(ReplayError, match=f"t-0: {told}.*run a member"):
        planner(bucket_with(STORED), FakeKafka(committed_offset)).plan("t", None, Wish())


@pytest.mark.parametrize("wish", [Wish(until=200 * MINUTE), Wish(since=200 * MINUTE)])
def test_a_time_behind_all_that_kafka_has_is_where_the_group_is_whatever_a_backup_lacks(wish: Wish) -> None:
    made = planner(bucket_with(STORED), FakeKafka(committed(50), log_start=25), of_backup=True)
    expected = {} if wish.until is None else {0: (0, 50)}
    assert made.plan("t", backup((0, 30)), wish).note.bounds == expected


@pytest.mark.parametrize("others", [STORED, [(3, 20)]])
def test_what_readers_see_by_folders_has_them_alone(others: list[tuple[int, Offset]]) -> None:
    kafka = FakeKafka(committed(50))

    def plan(bucket: Bucket, generation: int) -> Planner:
        offsets = cast("OffsetReader", kafka)
        return Planner(
            bucket.store, "group", generation, "abc", offsets, None, kafka=True, alone=lambda topic: topic == "t"
        )

    with pytest.raises(ReplayError, match=r"rows of generation \d, which is below this spec\.storage\.prefix, too"):
        plan(bucket_with(others), 2).plan("t", None, Wish())
    bucket = bucket_with()
    begun = plan(bucket, 2).begin(plan(bucket, 2).plan("t", None, Wish()))
    with pytest.raises(ReplayError, match="rows of generation 2"):  # which the other one has yet to store
        plan(bucket, 3).plan("t", None, Wish())
    bucket.objects |= bucket_with([(2, 0)]).objects
    assert plan(bucket, 2).plan("t", None, Wish()).note == begun.note


def test_of_two_replays_that_are_planned_at_once_the_later_is_planned_again() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    third = Planner(bucket.store, "group", 3, "abc", cast("OffsetReader", kafka), None, kafka=True)
    part = third.plan("t", None, Wish(since=20 * MINUTE, until=30 * MINUTE))
    planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish()))
    with pytest.raises(ReplayError, match="generation 2 was begun while this one was planned; repeat this"):
        third.begin(part)
    assert get_replay(bucket.store, "group", "t", 3) is None
    assert third.begin(third.plan("t", None, Wish())).note.bounds == {0: (0, 50)}


def _third(bucket: Bucket, kafka: FakeKafka) -> Planner:
    return Planner(bucket.store, "group", 3, "abc", cast("OffsetReader", kafka), None, kafka=True)


def test_ranges_end_where_other_replays_begin_and_end() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    part = planner(bucket, kafka).plan("t", None, Wish(20 * MINUTE, 40 * MINUTE)).note.bounds
    planner(bucket, kafka).begin(planner(bucket, kafka).plan("t", None, Wish(20 * MINUTE, 40 * MINUTE)))
    for _ in ("begun", "resumed"):
        whole = _third(bucket, kafka).begin(_third(bucket, kafka).plan("t", None, Wish()))
        assert whole.cuts() == {P: [offset for offset in part[0] if 0 < offset < 50]} != {P: []}


def test_of_two_replays_that_are_planned_at_once_the_second_is_planned_again() -> None:
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    early, late = planner(bucket, kafka).plan("t", None, Wish()), _third(bucket, kafka).plan("t", None, Wish())
    planner(bucket, kafka).begin(early)
    with pytest.raises(ReplayError, match="into generation 2 was begun while this one was planned") as refused:
        _third(bucket, kafka).begin(late)
    assert refused.value.passes
    assert get_replay(bucket.store, "group", "t", 3) is None


def test_what_the_document_has_is_noted_by_who_goes_on() -> None:
    """A process was killed between the two."""
    bucket, kafka = bucket_with(STORED), FakeKafka(committed(50))
    change_current(bucket.store, "group", "t", lambda now: now.begun("id", 2, {0: (0, 50)}))
    part = planner(bucket, kafka).plan("t", None, Wish(20 * MINUTE, 40 * MINUTE))
    assert planner(bucket, kafka).begin(part).note.bounds == {0: (0, 50)} != part.note.bounds
