"""``quarantine replay``: what it does, what it says, and that ``--dry-run`` does nothing."""

import json
from typing import Any

import pytest

from logpersister.cli import replaying
from logpersister.cli.exits import Exit
from logpersister.manifest import LogPersister
from logpersister.plan.intents import UnknownMetadataError
from tests.unit.cli.test_quarantine import run as run_quarantine
from tests.unit.manifest.documents import accepted
from tests.unit.replay.bucket import CLICKS, Bucket, KilledError, bucket_with, replayer, store_range
from tests.unit.replay.samples import NUMBERS, RECORDS, TEXTS, TEXTS_BUT_4, noted, resource
from tests.unit.verify.samples import committed


@pytest.fixture
def bucket() -> Bucket:
    return bucket_with(NUMBERS, RECORDS)


def run(
    monkeypatch: pytest.MonkeyPatch,
    bucket: Bucket,
    manifest: LogPersister,
    commits: Any = None,
    away: Any = None,
    **options: Any,
) -> tuple[int, str, str]:
    monkeypatch.setattr(replaying, "_commits", lambda *_: (commits, away or {}))
    given = {"dry_run": False, "leave_out": False, "timeout": 1.0, "without_kafka": commits is None}
    return run_quarantine(monkeypatch, bucket, manifest, "replay", **(given | options))


def test_a_dry_run_and_a_replay(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    before = dict(bucket.objects)
    head = "TOPIC   OBJECTS  RECORDS  ACCEPTED  REFUSED  LEFT OUT\n"
    row = f"{head}clicks        1        4         2        2         0\n\n"
    dry = run(monkeypatch, bucket, TEXTS, dry_run=True)
    assert dry == (Exit.OK, f"{row}2 records would be replayed; nothing was written\n", "")
    assert bucket.objects == before

    code, out, _ = run(monkeypatch, bucket, TEXTS, {CLICKS: committed(200, topic_id="id")}, json=True)
    document = json.loads(out)
    (one,) = document["objects"]
    assert code == Exit.OK
    counts = {"objects": 1, "records": 4, "accepted": 2, "refused": 2, "leftOut": 0, "deleted": 0}
    assert document["totals"] == counts | {"adjusted": {"values": 0, "reasons": {}}}
    assert (one["state"], one["object"] in bucket.objects) == ("replayed", False)
    assert {"raw/" + key for key in one["to"]} <= bucket.objects.keys()
    assert [key.split("/")[1] for key in one["to"]] == ["_quarantine", "dt=1970-01-02", "dt=1970-01-05"]

    assert run(monkeypatch, bucket, TEXTS)[1].endswith("0 records replayed\n")


def test_what_the_manifest_leaves_out_is_deleted_only_if_somebody_says_so(
    monkeypatch: pytest.MonkeyPatch, bucket: Bucket
) -> None:
    kept = "1 record that the manifest leaves out {}kept in quarantine; --leave-out deletes such records"
    counts = "TOPIC   OBJECTS  RECORDS  ACCEPTED  REFUSED  LEFT OUT\nclicks        1        {}        2         1\n"
    dry = run(monkeypatch, bucket, TEXTS_BUT_4, dry_run=True)[1]
    assert dry.startswith(counts.format("4         1"))
    assert dry.splitlines()[-1] == kept.format("would be ")
    dry = run(monkeypatch, bucket, TEXTS_BUT_4, dry_run=True, leave_out=True)[1]
    assert dry.splitlines()[-1] == "1 record that the manifest leaves out would be deleted"
    for left in ("4         1", "3         0"):
        code, out, _ = run(monkeypatch, bucket, TEXTS_BUT_4)
        assert (code, out.splitlines()[-1]) == (Exit.OK, kept.format(""))
        assert out.startswith(counts.format(left))
    code, out, _ = run(monkeypatch, bucket, TEXTS_BUT_4, leave_out=True)
    assert (code, out.splitlines()[-1]) == (Exit.OK, "1 record that the manifest leaves out deleted")


def test_adjusted_values_are_counted(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    """As members count them: of records that are stored, also by who finishes what another one began."""
    manifest = resource("int64", faults={"wrongType": "convert"})
    told = "2 values {}adjusted, as faults of spec.value says: wrong_type 2"
    dry = run(monkeypatch, bucket, manifest, dry_run=True)[1]
    assert dry.splitlines()[-1] == told.format("would be ")
    document = json.loads(run(monkeypatch, bucket, manifest, json=True)[1])
    adjusted = {"values": 2, "reasons": {"wrong_type": 2}}
    assert (document["objects"][0]["adjusted"], document["totals"]["adjusted"]) == (adjusted, adjusted)
    (note,) = noted(bucket)
    assert note.adjusted == adjusted["reasons"]
    store_range(bucket, NUMBERS, RECORDS)  # whose quarantine a replay before has stored elsewhere
    assert told.format("") in run(monkeypatch, bucket, manifest)[1].splitlines()


def test_what_a_killed_replay_has_refused_is_counted_once(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    initial, number = dict(bucket.objects), 0
    while len(bucket.quarantined()) == 1:  # until it dies behind what it has refused, before it is settled
        number += 1
        bucket.objects, bucket.requests, bucket.dies_at = dict(initial), 0, (number, False)
        with pytest.raises(KilledError):
            replayer(bucket, TEXTS).replay(*bucket.quarantined()[0])
        bucket.dies_at = None
    monkeypatch.setattr(replaying, "__version__", "1")
    assert run(monkeypatch, bucket, TEXTS)[1].startswith(
        "TOPIC   OBJECTS  RECORDS  ACCEPTED  REFUSED  LEFT OUT\nclicks        1        4         2        2         0\n"
    )


def test_what_is_not_committed_waits(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    before = dict(bucket.objects)
    for standing in (committed(100, topic_id="id"), None):
        code, out, _ = run(monkeypatch, bucket, TEXTS, {CLICKS: standing})
        assert code == Exit.OK
        assert "1 object left for later: a member or another replay is at work on it" in out
    code, _, err = run(monkeypatch, bucket, TEXTS, {CLICKS: UnknownMetadataError("lp9")})
    assert (code, "cannot be read (lp9)" in err) == (Exit.FAILED, True)
    assert bucket.objects == before


def test_a_topic_that_may_not_be_read_or_whose_registry_is_away_is_named(
    monkeypatch: pytest.MonkeyPatch, bucket: Bucket
) -> None:
    before = dict(bucket.objects)
    nowhere = {"avro": {"registry": {"url": "http://127.0.0.1:1"}}}
    silent = accepted({"spec.output": {"parquet": {}}, "spec.value": nowhere})
    for manifest, away, why in ((TEXTS, {"clicks": "not allowed to read it"}, "not allowed"), (silent, {}, "registry")):
        code, _, err = run(monkeypatch, bucket, manifest, {CLICKS: committed(200, topic_id="id")}, away)
        assert (code, f"cannot be replayed: {why}" in err) == (Exit.UNREACHABLE, True)
    assert bucket.objects == before


def test_what_cannot_be_replayed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = bucket_with(resource("int64", text={}), RECORDS)
    code, out, err = run(monkeypatch, bucket, TEXTS)
    assert code == Exit.FAILED
    assert out.startswith("TOPIC   OBJECTS  RECORDS  ACCEPTED  REFUSED  LEFT OUT\nclicks        1        -")
    assert err.startswith("raw/clicks/_quarantine/1_0_00000000000000000100.txt.gz: cannot be replayed: objects .txt")


def test_a_replay_that_another_build_has_begun(monkeypatch: pytest.MonkeyPatch, bucket: Bucket) -> None:
    """The revision of a note is asked for in the bucket: here it is gone, or by other rules."""
    run(monkeypatch, bucket, TEXTS)
    (noted,) = (key for key in bucket.objects if "/replays/" in key)
    note = json.loads(bucket.objects[noted][0])
    snapshot = next(key for key in bucket.objects if note["revision"] in key)
    bucket.objects[noted] = json.dumps(note | {"objects": None}).encode(), {}
    store_range(bucket, NUMBERS, RECORDS)

    document = json.loads(bucket.objects[snapshot][0])
    changed = document | {"rules": document["rules"] | {"rows:json": 99}}
    for found, message in (
        (changed, "under other rules: rows:json (there 99, here"),
        (document | {"spec": document["spec"] | {"novelty": 1}}, "this version cannot execute it"),
    ):
        bucket.objects[snapshot] = json.dumps(found).encode(), {}
        assert message in run(monkeypatch, bucket, NUMBERS)[2]
    content = bucket.objects.pop(snapshot)
    assert "whose snapshot is not in the bucket" in run(monkeypatch, bucket, NUMBERS)[2]

    bucket.objects[snapshot] = json.dumps(document).encode(), content[1]
    code, out, err = run(monkeypatch, bucket, NUMBERS)
    assert (code, err) == (Exit.OK, "")
    assert "2 records replayed" in out
