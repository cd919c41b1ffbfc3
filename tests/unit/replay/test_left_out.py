"""Replays under a manifest that leaves out records of quarantine: they stay, unless a person says that they go."""

import contextlib
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest

from logpersister.manifest import LogPersister
from logpersister.replay.execution import Judgement
from logpersister.replay.source import SourceError
from logpersister.storage.replays import get_replay
from logpersister.verify.deep import DeepResult
from tests.unit.formats.samples import Record
from tests.unit.manifest.documents import accepted
from tests.unit.replay.bucket import GROUP, Bucket, KilledError, bucket_with, replayer, store_range
from tests.unit.replay.samples import NO_TEXTS, NOTHING, NUMBERS, RECORDS, TEXTS, TEXTS_BUT_4, noted, replay
from tests.unit.verify.test_replays import verified


@pytest.fixture
def bucket() -> Bucket:
    return bucket_with(NUMBERS, RECORDS)


def quarantined_rows(bucket: Bucket) -> list[dict[str, Any]]:
    return [
        row for key, _ in bucket.quarantined() for row in pq.read_table(io.BytesIO(bucket.objects[key][0])).to_pylist()
    ]


def offsets(bucket: Bucket) -> dict[str, list[int]]:
    """Return the first offset of each object of rows, and all of those in quarantine, by folder."""
    found: dict[str, list[int]] = {}
    for name, listed in bucket.inventory("clicks"):
        rows = pq.read_table(io.BytesIO(bucket.objects[listed.key][0]))
        facts = bucket.facts(listed.key)
        assert facts is not None
        some: list[Any] = rows["kafka_offset"].to_pylist() if name.path == "_quarantine" else [facts.first]
        found.setdefault(name.path, []).extend(some)
    return found


STORED = {"dt=1970-01-01": [100], "dt=1970-01-04": [103]}


SOME = (TEXTS_BUT_4, Judgement(4, 1, 1), {"dt=1970-01-02": [101], "_quarantine": [102, 105]}, {104})
OTHERS = (NO_TEXTS, Judgement(4, 1, 2), {"dt=1970-01-06": [105], "_quarantine": [102]}, {101, 104})
ALL = (NOTHING, Judgement(4, 0, 3), {"_quarantine": [102]}, {101, 104, 105})


filters = pytest.mark.parametrize(
    ("manifest", "judgement", "stored", "left_out"), [SOME, OTHERS, ALL], ids=["some", "others", "all"]
)


@filters
def test_left_out_are_deleted_by_consent_only(
    bucket: Bucket, manifest: LogPersister, judgement: Judgement, stored: dict[str, list[int]], left_out: set[int]
) -> None:
    ((key, name),) = bucket.quarantined()
    before = dict(bucket.objects)
    assert replayer(bucket, manifest).judge(key, name) == judgement
    assert bucket.objects == before
    assert replayer(bucket, manifest).replay(key, name).judgement == judgement
    assert offsets(bucket) == STORED | stored | {"_quarantine": sorted({*stored["_quarantine"], *left_out})}
    assert verified(bucket) == ([], DeepResult([], len(RECORDS)))
    if judgement.accepted:
        assert [(one.left_out, one.deleted, one.settled) for one in noted(bucket)] == [(len(left_out), 0, True)]
        rows = quarantined_rows(bucket)
        assert {row["kafka_offset"] for row in rows if row["reason"] == "left_out"} == left_out
    else:
        assert bucket.objects == before
    assert replay(bucket, manifest) == [(0, len(stored["_quarantine"]))], "nothing more is good"

    assert replay(bucket, manifest, leaves_out=True) == [(0, len(stored["_quarantine"]))]
    assert offsets(bucket) == STORED | stored
    findings, comparison = verified(bucket)
    assert ([one.kind for one in findings], comparison.compared) == ([], len(RECORDS) - len(left_out))


@filters
def test_left_out_are_deleted_at_once_with_consent(
    bucket: Bucket, manifest: LogPersister, judgement: Judgement, stored: dict[str, list[int]], left_out: set[int]
) -> None:
    ((key, name),) = bucket.quarantined()
    assert replayer(bucket, manifest, leaves_out=True).replay(key, name).judgement == judgement
    assert offsets(bucket) == STORED | stored
    note = get_replay(bucket.store, GROUP, key)
    assert note is not None
    assert (note.left_out, note.deleted, note.settled) == (len(left_out), len(left_out), True)
    assert replay(bucket, manifest, leaves_out=True) == [(0, len(stored["_quarantine"]))], "nothing more is good"


def test_of_a_range_nothing_may_stay() -> None:
    bucket = bucket_with(NUMBERS, [Record(101, 0, b"k", b'{"id": "2"}'), Record(104, 0, b"k", b'{"id": "4"}')])
    assert replay(bucket, NOTHING, leaves_out=True) == [(0, 0)]
    assert offsets(bucket) == {}
    (note,) = noted(bucket)
    assert (note.objects, note.left_out) == ({}, 2)


@pytest.mark.slow
@pytest.mark.parametrize("leaves_out", [False, True])
def test_a_death_at_any_request(bucket: Bucket, *, leaves_out: bool) -> None:
    """Whoever goes on does what was begun, under the manifest of then, whatever he himself says of what is left out."""
    initial = dict(bucket.objects)
    replay(bucket, TEXTS_BUT_4, leaves_out=leaves_out)
    expected = dict(bucket.objects)
    for number in range(1, bucket.requests + 1):
        for is_done in (False, True):
            dying = Bucket(dict(initial), dies_at=(number, is_done))
            with contextlib.suppress(KilledError):
                replay(dying, TEXTS_BUT_4, leaves_out=leaves_out)
            dying.dies_at = None
            assert {102, 105} <= set(offsets(dying)["_quarantine"])
            if any("/replays/" in key for key in dying.objects):
                under_another = Bucket(dict(dying.objects))
                replay(under_another, TEXTS, TEXTS_BUT_4)
                stored = {key: content for key, content in under_another.objects.items() if key in expected}
                gone = expected.keys() - stored.keys()  # what has stayed, this manifest may take out
                assert stored == {key: content for key, content in expected.items() if key not in gone}
                assert all("/_quarantine/" in key for key in gone)
                assert not (leaves_out and gone)
            else:
                assert 104 in offsets(dying)["_quarantine"]
            replay(dying, TEXTS_BUT_4, leaves_out=leaves_out)
            assert dying.objects == expected


def test_nothing_is_deleted_where_more_would_be_left_out_than_was_noted(bucket: Bucket) -> None:
    """Somebody has changed the note, or another build judges otherwise."""
    ((key, name),) = bucket.quarantined()
    replay(bucket, TEXTS_BUT_4, leaves_out=True)
    (noted_at,) = (one for one in bucket.objects if "/replays/" in one)
    note = json.loads(bucket.objects[noted_at][0])
    store_range(bucket, NUMBERS, RECORDS)
    bucket.objects[noted_at] = json.dumps(note | {"objects": None, "leftOut": 0}).encode(), {}
    with pytest.raises(SourceError, match="3 of 4 of its records were written: a bug"):
        replayer(bucket, TEXTS_BUT_4, leaves_out=True).replay(key, name)
    assert key in bucket.objects


WITH_ALL = accepted({"spec.value": {"json": {}}, "spec.quarantine": {"format": "parquet"}})
"""Keeps headers in quarantine, too."""


def test_types_that_are_dropped_now_are_left_out_like_others() -> None:
    bucket = bucket_with(WITH_ALL, [Record(101, 0, b"a", b"{"), Record(102, 0, b"b", b"["), Record(103, 0, b"c", b"")])
    entries = [{"names": ["a"], "output": {"jsonl": {}}}, {"names": ["b"], "action": "drop"}]
    types = accepted({"spec.types": {"key": True, "entries": entries}})
    assert replay(bucket, types) == [(1, 1)]
    reasons = {row["kafka_offset"]: row["reason"] for row in quarantined_rows(bucket)}
    assert reasons == {102: "left_out", 103: "unknown_type"}
    assert replay(bucket, types, leaves_out=True) == [(0, 1)]
    assert {row["kafka_offset"] for row in quarantined_rows(bucket)} == {103}


def test_conditions_on_headers_beside_types_leave_records_in_quarantine() -> None:
    bucket = bucket_with(WITH_ALL, [Record(101 + place, 0, b"a", b"{") for place in range(3)], with_trace=2)
    types = {"key": True, "entries": [{"names": ["a"], "output": {"jsonl": {}}}]}
    by_header = accepted({"spec.types": types, "spec.keep": [{"header": "trace", "in": ["1"]}]})
    assert replay(bucket, by_header) == [(2, 0)]
    assert [(row["kafka_offset"], row["reason"]) for row in quarantined_rows(bucket)] == [(103, "left_out")]


def test_conditions_on_headers_need_headers() -> None:
    bucket = bucket_with(NUMBERS, RECORDS)
    keep = [{"header": "trace", "in": ["1"]}]
    output = {"jsonl": {"kafkaColumns": ["offset"]}}
    by_header = accepted({"spec.output": output, "spec.keep": keep})
    with pytest.raises(SourceError, match=r"it has no headers, and spec\.keep has conditions on them"):
        replay(bucket, by_header)
    bucket = bucket_with(WITH_ALL, [Record(101, 0, None, b"{"), Record(102, 0, None, b"[")], with_trace=1)
    assert replay(bucket, by_header, leaves_out=True) == [(1, 0)], "only the first record has the header"
    assert noted(bucket)[0].left_out == 1
