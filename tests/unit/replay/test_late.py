"""Late records: a range that has some, what replays make of those in quarantine, and verification after each step."""

import contextlib
import json
from collections import Counter
from typing import Any

import pytest

from logpersister.manifest import LogPersister
from logpersister.pipeline.persist import RangeWriter, TooManyRefusedError
from logpersister.pipeline.room import Room
from logpersister.pipeline.work import RangeWork
from logpersister.records.escaping import QUARANTINE
from logpersister.report.facts import LateRecords
from logpersister.storage.names import parse_object_key
from logpersister.verify.deep import DeepResult
from logpersister.verify.findings import Finding, Kind
from tests.unit.formats.samples import batch, with_headers
from tests.unit.pipeline.fakes import FakeBucket
from tests.unit.replay.bucket import RANGE, Bucket, KilledError, output_of, store_range
from tests.unit.replay.samples import BUT_1_AND_2, DAY, RECORDS, by_late, noted, replay
from tests.unit.verify.test_replays import verified

HORIZON = 2 * DAY
"""The offsets 100 and 101 came late."""
ALL_GOOD: tuple[list[Finding], DeepResult] = ([], DeepResult([], len(RECORDS)))


def stored(resource: LogPersister, horizon: int | None = HORIZON) -> tuple[Bucket, RangeWriter]:
    bucket = Bucket()
    return bucket, store_range(bucket, resource, RECORDS, horizon=horizon)


def places(bucket: Bucket) -> dict[str, int]:
    """Return how many records are in each folder."""
    found: Counter[str] = Counter()
    for name, listed in bucket.inventory("clicks"):
        facts = bucket.facts(listed.key)
        assert facts is not None
        found[name.path] += facts.records
    return dict(found)


def days(*numbers: int, late: tuple[int, ...] = (), quarantined: int = 0) -> dict[str, int]:
    found = {f"dt=1970-01-{number + 1:02}": 1 for number in numbers}
    found |= {f"_late/dt=1970-01-{number + 1:02}": 1 for number in late}
    return found | ({QUARANTINE: quarantined} if quarantined else {})


def test_a_range_with_late_records() -> None:
    """Which of its records are refused as well, and which are good, makes no difference to where the others stand."""
    bucket, writer = stored(by_late("folder", None))
    assert places(bucket) == days(2, 3, 4, 5, late=(0, 1))
    assert (writer.counts.late, writer.quarantined()) == (LateRecords(2, "folder"), None)
    assert verified(bucket) == ALL_GOOD

    bucket, writer = stored(by_late("quarantine", None))
    assert places(bucket) == days(2, 3, 4, 5, quarantined=2)
    assert (writer.counts.late, writer.quarantined()) == (LateRecords(2, "quarantine"), None)
    assert verified(bucket) == ALL_GOOD

    bucket, writer = stored(by_late("quarantine", "int64"))
    assert places(bucket) == days(3, quarantined=5)
    found = writer.quarantined()
    assert found is not None
    assert (writer.counts.late, found.records, found.first) == (LateRecords(1, "quarantine"), 4, 101), (
        "101 is refused anyway"
    )
    assert found.reason == "no row of the schema: wrong_type in id"
    assert verified(bucket) == ALL_GOOD

    for without in (stored(by_late("append", None)), stored(by_late("folder", None), None)):
        assert places(without[0]) == days(*range(6))
        assert without[1].counts.late is None
        assert verified(without[0]) == ALL_GOOD


@pytest.mark.parametrize("late", ["folder", "quarantine"])
def test_records_that_are_left_out_are_not_late(late: str) -> None:
    """Offset 100 came late and is left out, 101 came late and is refused."""
    bucket, writer = stored(by_late(late, "int64", BUT_1_AND_2["int64"]))
    assert places(bucket) == days(3, quarantined=4)
    assert (writer.counts.dropped, writer.counts.late) == (1, None)
    findings, comparison = verified(bucket)
    assert (findings, comparison.compared) == ([], 5)


def test_a_replay_may_leave_out_all_that_came_late() -> None:
    """Only with consent. The rest stays late, by the horizon of the replay."""
    bucket, _ = stored(by_late("quarantine", "string"))
    assert places(bucket) == days(4, quarantined=5), "101 came late, the others are refused"
    narrower = by_late("quarantine", "string", BUT_1_AND_2["string"])
    before = dict(bucket.objects)
    assert replay(bucket, narrower, horizon=HORIZON)[0] == (0, 4)
    assert bucket.objects == before
    assert replay(bucket, narrower, horizon=HORIZON, leaves_out=True)[0] == (0, 4)
    assert places(bucket) == days(4, quarantined=4)
    (note,) = noted(bucket)
    assert (note.left_out, note.horizon) == (1, HORIZON)
    findings, comparison = verified(bucket)
    assert (findings, comparison.compared) == ([], 5)


@pytest.mark.parametrize("late", ["append", "folder", "quarantine"])
def test_what_is_left_out_stays_in_quarantine_also_if_it_came_late(late: str) -> None:
    """103 goes to its folder. 100 would be late, but is left out, and stays with those that are refused."""
    bucket, _ = stored(by_late("quarantine", "string"))
    assert places(bucket) == days(4, quarantined=5)
    assert replay(bucket, by_late(late, "int64", BUT_1_AND_2["int64"]), horizon=HORIZON) == [(1, 3)]
    assert [(one.left_out, one.deleted) for one in noted(bucket)] == [(1, 0)]
    assert places(bucket) == days(3, 4, quarantined=4)
    assert verified(bucket) == ALL_GOOD


def test_late_records_hold_no_partition() -> None:
    """Of six records two came late, which the parser would accept."""
    resource = by_late("quarantine")
    topic = output_of(resource).topic
    room = Room.of(resource.spec.storage.part_size, topic.formats.held_back)

    def written(records: Any, limit: int) -> RangeWriter:
        work = RangeWork(RANGE, "id", 1, 0, RANGE.start, horizon=HORIZON)
        open_upload = FakeBucket().open_upload
        writer = RangeWriter(work, topic.layout_at(HORIZON), topic.formats, open_upload, room, limit)
        writer.write(with_headers(batch(records)))
        return writer

    assert not written([RECORDS[1], RECORDS[4]], 0).end_pass()
    with pytest.raises(TooManyRefusedError, match="refuses 1 of the 3 records"):
        written([RECORDS[1], RECORDS[2], RECORDS[4]], 30).end_pass()


@pytest.mark.parametrize("late", ["folder", "quarantine"])
def test_verification_finds_records_on_the_wrong_side_of_the_horizon(late: str) -> None:
    bucket, _ = stored(by_late(late, None))
    for key, (content, metadata) in list(bucket.objects.items()):
        if "horizon" in metadata:
            bucket.objects[key] = content, {**metadata, "horizon": str(DAY)}
    findings, _ = verified(bucket)
    assert {one.kind for one in findings} <= {Kind.WRONG_CONTENT, Kind.WRONG_FACTS, Kind.MISSING}
    assert {one.kind for one in findings} >= {Kind.MISSING}


def test_verification_finds_a_range_that_was_stored_by_two_horizons() -> None:
    """As it would be if horizons were not promised: the record of the second day is there twice."""
    resource = by_late("folder", None)
    bucket, _ = stored(resource)
    store_range(bucket, resource, RECORDS, horizon=DAY)
    findings, _ = verified(bucket)
    assert Kind.WRONG_FACTS in {one.kind for one in findings}
    assert any("by different horizons" in one.message for one in findings)


def test_verification_finds_late_folders_without_a_horizon() -> None:
    bucket, _ = stored(by_late("folder", None))
    bucket.objects = {
        key: (content, {name: value for name, value in metadata.items() if name != "horizon"})
        for key, (content, metadata) in bucket.objects.items()
    }
    findings, _ = verified(bucket)
    assert any("has no horizon by which any came late" in one.message for one in findings)


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ("append", days(1, 3, 4, quarantined=3)),
        ("folder", days(3, 4, late=(1,), quarantined=3)),
        ("quarantine", days(3, 4, quarantined=4)),
    ],
)
def test_what_a_replay_makes_of_late_records(late: str, expected: dict[str, int]) -> None:
    """The manifest decides, and what is finished now. Its schema accepts 104, and 101, which came late."""
    bucket, _ = stored(by_late("quarantine", "int64"))
    assert places(bucket) == days(3, quarantined=5)
    replay(bucket, by_late(late), horizon=HORIZON)
    assert places(bucket) == expected
    assert verified(bucket) == ALL_GOOD
    (note,) = noted(bucket)
    assert note.source.horizon == HORIZON
    assert note.horizon == (None if late == "append" else HORIZON)
    assert replay(bucket, by_late(late), horizon=HORIZON)[-1][0] == 0, "nothing more is accepted"
    replay(bucket, by_late("append"), horizon=HORIZON)
    replay(bucket, by_late("append", "int64"), horizon=HORIZON)
    second = days(late=(1,)) if late == "folder" else days(1)
    assert places(bucket) == days(0, 3, 4, quarantined=2) | second
    assert verified(bucket) == ALL_GOOD


def test_records_that_only_came_late_stay_while_the_manifest_says_so() -> None:
    bucket, _ = stored(by_late("quarantine", "int64"))
    (source,) = bucket.quarantined()
    before = dict(bucket.objects)
    assert replay(bucket, by_late("quarantine", "int64"), horizon=HORIZON) == [(0, 5)]
    assert bucket.objects == before
    assert replay(bucket, by_late("quarantine", "int64")) == [(1, 4)], "finished/ was deleted: none is late"
    assert source[0] not in bucket.objects
    assert verified(bucket) == ALL_GOOD


def test_a_replay_goes_on_by_the_horizon_by_which_it_began() -> None:
    """Killed anywhere, and meanwhile more is finished."""
    initial, _ = stored(by_late("quarantine", "int64"))
    whole = Bucket(dict(initial.objects))
    replay(whole, by_late("folder"), horizon=HORIZON)
    for number in range(1, whole.requests + 1):
        dying = Bucket(dict(initial.objects), dies_at=(number, True))
        with contextlib.suppress(KilledError):
            replay(dying, by_late("folder"), horizon=HORIZON)
        dying.dies_at = None
        began = bool(noted(dying))
        replay(dying, by_late("folder"), horizon=5 * DAY)
        assert (places(dying) == places(whole)) == began
        assert verified(dying) == ALL_GOOD


def test_a_replay_whose_note_has_no_horizon_is_one_of_an_earlier_release() -> None:
    bucket, _ = stored(by_late("quarantine", "int64"), None)
    replay(bucket, by_late("folder"))
    (key,) = (key for key in bucket.objects if "/replays/" in key)
    document = json.loads(bucket.objects[key][0])
    assert "horizon" not in document
    assert "horizon" not in document["source"]
    assert verified(bucket) == ALL_GOOD
    assert all(parse_object_key("raw", name) is not None for name in noted(bucket)[0].keys("raw"))
