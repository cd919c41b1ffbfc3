"""Replays of quarantine: what becomes of the records, and a death at every request of one."""

import contextlib
import io
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from logpersister.manifest import LogPersister
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import Offset
from logpersister.replay.execution import Judgement
from logpersister.replay.protocol import Step, may_be_written, next_step
from logpersister.replay.source import SourceError
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import list_arrivals, read_arrivals
from logpersister.storage.replays import Replay, Source, get_replay
from logpersister.storage.untold import TABLE, Untold, list_untold
from logpersister.verify.deep import DeepResult
from tests.unit.formats.samples import Record
from tests.unit.manifest.documents import accepted
from tests.unit.replay.bucket import CLICKS, GROUP, RANGE, Bucket, KilledError, bucket_with, replayer, store_range
from tests.unit.replay.samples import (
    GOOD,
    NO_PARSER,
    NUMBERS,
    OUTPUTS,
    RECORDS,
    TEXTS,
    TEXTS_OR_NONE,
    noted,
    replay,
    resource,
)
from tests.unit.verify.samples import committed, pending
from tests.unit.verify.test_replays import verified


@pytest.fixture
def bucket() -> Bucket:
    return bucket_with(NUMBERS, RECORDS)


def places(bucket: Bucket, kind: str = "") -> dict[str, list[Offset]]:
    """Return the offsets in each folder with Parquet files, of objects whose extension begins so."""
    found: dict[str, list[Offset]] = {}
    for name, listed in bucket.inventory("clicks"):
        if name.extension.startswith(kind) and name.extension.endswith(".parquet"):
            rows = pq.read_table(io.BytesIO(bucket.objects[listed.key][0]))
            facts = bucket.facts(listed.key)
            assert facts is not None
            assert (facts.range, facts.records) == (RANGE, rows.num_rows)
            offsets: list[Any] = rows["kafka_offset"].to_pylist() if name.path == "_quarantine" else [facts.first]
            found.setdefault(name.path, []).extend(offsets)
    return found


def test_good_records_go_to_their_folders_and_the_others_stay(bucket: Bucket) -> None:
    before = dict(bucket.objects)
    (source,) = bucket.quarantined()
    assert places(bucket)["_quarantine"] == [101, 102, 104, 105]

    assert replay(bucket, TEXTS) == [(2, 2)]

    assert places(bucket, ".r") == {"dt=1970-01-02": [101], "dt=1970-01-05": [104], "_quarantine": [102, 105]}
    assert places(bucket, ".parquet") == {path: [offset] for path, offset in GOOD.items()}
    note = get_replay(bucket.store, GROUP, source[0])
    assert note is not None
    assert [note] == noted(bucket)
    assert set(bucket.objects) == {*before, *note.keys("raw")} - {source[0]} | documents(bucket)
    for key in note.keys("raw"):
        facts = bucket.facts(key)
        assert facts is not None
        assert (facts.parser, facts.rules) == ("json", note.revision) != ("json", facts.revision)
    assert replay(bucket, TEXTS) == [(0, 2)], "nothing more is good"
    assert len(noted(bucket)) == 1

    assert replay(bucket, TEXTS_OR_NONE) == [(1, 1)]
    assert places(bucket, ".r")["_quarantine"] == [102]
    assert replay(bucket, NO_PARSER) == [(1, 0)]
    assert "_quarantine" not in places(bucket)
    (last,) = [key for key in bucket.objects if key.endswith(".jsonl.gz")]
    assert "dt=1970-01-03" in last


def documents(bucket: Bucket) -> set[str]:
    return {key for key in bucket.objects if "/_logpersister/" in f"/{key}"}


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=list(OUTPUTS))
def test_good_records_go_to_their_folders_from_every_format_that_keeps_them(output: dict[str, Any]) -> None:
    """What a replay has refused is the source of the next one, in the same format."""
    bucket = bucket_with(resource("int64", **output), RECORDS)
    for schema, expected in (("string", [(2, 2)]), ("json", [(0, 2)])):
        assert replay(bucket, resource(schema, **output)) == expected
    folders = [name.path for name, _ in bucket.inventory("clicks") if name.replay is not None]
    assert folders == ["_quarantine", "dt=1970-01-02", "dt=1970-01-05"]
    assert replay(bucket, resource("json", required=False, **output)) == [(1, 1)]
    ((_, left),) = bucket.quarantined()
    assert left.replay is not None
    records = [bucket.facts(listed.key) for _, listed in bucket.inventory("clicks")]
    assert sorted(one.first for one in records if one is not None) == [record.offset for record in RECORDS]


def test_what_is_refused_all_the_same_is_left_alone(bucket: Bucket) -> None:
    before = dict(bucket.objects)
    assert replay(bucket, NUMBERS) == [(0, 4)]
    key, name = bucket.quarantined()[0]
    assert replayer(bucket, TEXTS).judge(key, name) == Judgement(4, 2)
    assert bucket.objects == before


def test_a_death_at_any_request_and_another_replay(bucket: Bucket) -> None:
    """Whoever goes on gets to the same objects, also under another revision: the note says under which."""
    initial = dict(bucket.objects)
    replay(bucket, TEXTS)
    expected = dict(bucket.objects)
    for number in range(1, bucket.requests + 1):
        for is_done in (False, True):
            dying = Bucket(dict(initial), dies_at=(number, is_done))
            with contextlib.suppress(KilledError):
                replay(dying, TEXTS)
            dying.dies_at = None
            assert {102, 105} <= set(places(dying)["_quarantine"]), "the records are somewhere at every moment"
            again, under_another = Bucket(dict(dying.objects)), Bucket(dict(dying.objects))
            replay(again, TEXTS)
            assert again.objects == expected

            replay(under_another, TEXTS_OR_NONE, TEXTS)
            if any("/replays/" in key for key in dying.objects):
                stored, other = {*expected}, {*under_another.objects}
                assert all("/_quarantine/" in key for key in stored - other), "what was refused may be replayed at once"
                assert all(under_another.objects[key] == expected[key] for key in stored & other)
            else:
                assert places(under_another, ".r")["_quarantine"] == [102]


@pytest.mark.parametrize("member_repeats", [False, True])
def test_who_stands_still_at_any_request_while_others_work_repeats_and_loses_nothing(
    bucket: Bucket, member_repeats: bool
) -> None:
    """Meanwhile another replay under another revision does all of its work, and a zombie stores the range again."""
    initial = dict(bucket.objects)
    replay(bucket, TEXTS)
    for number in range(1, bucket.requests + 1):
        paused = Bucket(dict(initial))
        requests = iter(range(1, number + 1))

        def others_work(paused: Bucket = paused, requests: Iterator[int] = requests, number: int = number) -> None:
            if next(requests, 0) == number:
                replay(paused, TEXTS_OR_NONE, NO_PARSER, TEXTS)
                if member_repeats:
                    store_range(paused, NUMBERS, RECORDS)

        paused.before_request = others_work
        replay(paused, TEXTS, TEXTS_OR_NONE, NO_PARSER)
        in_folders = Counter(row for path, rows in places(paused).items() if path != "_quarantine" for row in rows)
        assert set(in_folders.values()) == {1}, number
        replay(paused, TEXTS_OR_NONE, TEXTS, NO_PARSER)
        assert verified(paused) == ([], DeepResult([], len(RECORDS))), number


def test_a_member_stores_the_range_again(bucket: Bucket) -> None:
    """A zombie, or a recovery: the note tells that the records are elsewhere."""
    initial = dict(bucket.objects)
    replay(bucket, TEXTS)
    expected = dict(bucket.objects)
    store_range(bucket, NUMBERS, RECORDS)
    assert len(bucket.quarantined()) == 2
    assert sorted(replay(bucket, TEXTS)) == [(0, 2), (2, 2)]
    assert bucket.objects == expected

    store_range(bucket, NUMBERS, [record for record in RECORDS if record.offset != 105])  # compaction took one
    replay(bucket, TEXTS)
    assert {key: bucket.objects[key] for key in expected if key not in initial} == {
        key: value for key, value in expected.items() if key not in initial
    }

    store_range(bucket, NUMBERS, [*RECORDS, Record(150, 0, b"k", b"{")])  # nobody knows how
    with pytest.raises(SourceError, match="it has other records than when its replay began"):
        replay(bucket, TEXTS)


def test_a_source_is_not_deleted_where_its_objects_have_gone(bucket: Bucket) -> None:
    """Somebody has deleted them, and the range was stored again: the source may be all there is."""
    replay(bucket, TEXTS)
    (gone,) = (key for key in bucket.objects if "/dt=1970-01-05/" in key and ".r" in key)
    content = bucket.objects.pop(gone)
    store_range(bucket, NUMBERS, RECORDS)
    before = dict(bucket.objects)
    with pytest.raises(SourceError, match=f"but {gone}, in which some of them stood, has gone: restore it"):
        replay(bucket, TEXTS)
    assert bucket.objects == before

    bucket.objects[gone] = content
    replay(bucket, TEXTS_OR_NONE)
    store_range(bucket, NUMBERS, RECORDS)
    replay(bucket, TEXTS)  # what was refused has gone since, by a replay of its own
    assert [name.replay is None for _, name in bucket.quarantined()] == [False]


@pytest.mark.parametrize(
    ("member", "replaying", "message"),
    [
        (resource("int64", text={}), TEXTS, r"objects \.txt\.gz do not keep all of a record"),
        (resource("int64", sequencefile={}), TEXTS, "its keys are offsets only"),
        (NUMBERS, resource("string", parquet={"kafkaColumns": ["headers"]}), "it has no headers, and spec.output"),
    ],
)
def test_what_cannot_be_replayed(member: LogPersister, replaying: LogPersister, message: str) -> None:
    bucket = bucket_with(member, RECORDS)
    before = dict(bucket.objects)
    with pytest.raises(SourceError, match=message):
        replay(bucket, replaying)
    assert bucket.objects == before


QUIET: dict[str, Any] = {"spec.value": {"json": {}}, "spec.quarantine": {"keepValue": False}}


@pytest.mark.parametrize(
    ("kept", "keeps", "message"),
    [
        (False, False, "values were left out of it"),
        (False, True, "values were left out of it"),
        (True, False, "what the manifest refuses again would lose its values"),
    ],
)
def test_records_without_values_are_not_replayed(*, kept: bool, keeps: bool, message: str) -> None:
    """Nor are others where what stays in quarantine would lose them."""
    bucket = Bucket()
    quiet = accepted(QUIET)
    store_range(bucket, NUMBERS if kept else quiet, RECORDS)
    before = dict(bucket.objects)
    with pytest.raises(SourceError, match=message):
        replay(bucket, TEXTS if keeps else quiet)
    assert bucket.objects == before


def test_damage_is_found_before_anything_is_deleted(bucket: Bucket) -> None:
    (key, name), *_ = bucket.quarantined()
    content, metadata = bucket.objects[key]
    runs = replayer(bucket, TEXTS)
    for damaged, said, message in (
        (content[:-9], {}, "it cannot be read to its end"),
        (content, {"checksum": "crc32:00000000-0-0-0"}, "checksum"),
        (content, {"records": "3"}, "where 3 from 101 on"),
        (content, {"group": "other"}, "group other has written it"),
    ):
        bucket.objects[key] = damaged, {**metadata, **said}
        with pytest.raises(SourceError, match=message):
            runs.replay(key, name)
        assert not any("/replays/" in one for one in bucket.objects)


def test_copies_of_objects_are_not_replayed_as_if_they_were_others(bucket: Bucket) -> None:
    """Their records would be stored twice."""
    ((key, _),) = bucket.quarantined()
    source, good = bucket.objects[key], bucket.objects[key.replace("_quarantine", "dt=1970-01-01")]
    replay(bucket, TEXTS)
    before, folder = dict(bucket.objects), "raw/clicks/_quarantine"
    (note,) = noted(bucket)
    for name, content, message in (
        ("1_1_00000000000000000100.parquet", source, r"it was copied or renamed"),
        ("2_0_00000000000000000100.parquet", source, r"it was copied or renamed"),
        ("1_0_00000000000000000101.parquet", source, r"it was copied or renamed"),
        ("1_0_00000000000000000100.orc", source, r"it cannot be read to its end"),
        ("1_0_00000000000000000100.parquet", good, r"it has other records than when its replay began"),
        ("1_0_00000000000000000100.avro", (b"", source[1]), r"it cannot be read to its end"),
    ):
        bucket.objects = before | {f"{folder}/{name}": content}
        copies = [one for one in bucket.quarantined() if one[0].endswith(name)]
        for copy in copies:
            with pytest.raises(SourceError, match=message):
                replayer(bucket, TEXTS).replay(*copy)
        assert len(copies) == 1
        assert bucket.objects == before | {f"{folder}/{name}": content}

    bucket.objects = before | {f"{folder}/1_0_00000000000000000100.r{note.id}.orc": source}
    assert [replayer(bucket, TEXTS).replay(*copy).waits for copy in bucket.quarantined()] == [True, False]
    bucket.objects = {key: good}
    with pytest.raises(SourceError, match=r"it has no column kafka_offset: it is no quarantine"):
        replay(bucket, TEXTS)


@pytest.mark.parametrize("name", ["parquet", "jsonl", "avro", "orc"])
def test_other_records_in_quarantine_are_not_replayed(name: str) -> None:
    """Somebody has copied an object of good records there: it has all of them, but no reasons."""
    manifest = accepted({"spec.output": {name: {"kafkaColumns": ["offset", "timestamp", "key"]}}})
    bucket = bucket_with(manifest, RECORDS)
    ((key, content),) = ((key, one) for key, one in bucket.objects.items() if "/revisions/" not in key)
    bucket.objects[key.replace("/1_0_", "/_quarantine/1_0_")] = content
    with pytest.raises(SourceError, match="it has no column reason: it is no quarantine of logpersister"):
        replay(bucket, manifest)


def test_who_may_not_delete_is_told_so_and_nothing_is_stored_twice(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise StorageError("unauthorized", "AccessDenied")

    with monkeypatch.context() as patched:
        patched.setattr(bucket, "delete", refuse)
        for _ in range(2):
            with pytest.raises(SourceError, match="its records stand in their folders now, but it could not be del"):
                replay(bucket, TEXTS)
            assert places(bucket, ".r") == {"dt=1970-01-02": [101], "dt=1970-01-05": [104], "_quarantine": [102, 105]}
    assert sorted(replay(bucket, TEXTS)) == [(0, 2), (2, 2)]
    assert len(bucket.quarantined()) == 1


def test_offsets_that_kafka_has_not_explained_are_still_told(bucket: Bucket) -> None:
    """Whose only evidence may be the source: verify asks Kafka about them."""
    ((key, _),) = bucket.quarantined()
    content, metadata = bucket.objects[key]
    bucket.objects[key] = content, {**metadata, "unexplained": "7"}
    replay(bucket, TEXTS)
    facts = [bucket.facts(listed.key) for name, listed in bucket.inventory("clicks") if name.replay is not None]
    assert [one.unexplained for one in facts if one is not None] == [7, 7, 7]


def test_headers_are_kept() -> None:
    bucket = Bucket()
    kafka = ["offset", "headers"]
    store_range(bucket, resource("int64", parquet={"kafkaColumns": kafka}), [Record(101, 1, b"k", b'{"id": "2"}')])
    replay(bucket, resource("string", parquet={"kafkaColumns": kafka}))
    ((_, listed),) = bucket.inventory("clicks")
    rows = pq.read_table(io.BytesIO(bucket.objects[listed.key][0])).to_pylist()
    assert rows == [{"id": "2", "kafka_offset": 101, "kafka_headers": [{"key": b"trace", "value": b"1"}]}]


def test_a_quarantine_of_text_keeps_all_of_a_record_by_choice() -> None:
    bucket = Bucket()
    text = {"text": {"compression": "none"}}
    member = accepted({"spec.output": text, "spec.value": {"json": {}}, "spec.quarantine": {"format": "parquet"}})
    store_range(bucket, member, RECORDS)
    ((key, _),) = bucket.quarantined()
    (row,) = pq.read_table(io.BytesIO(bucket.objects[key][0])).to_pylist()
    headers = [{"key": b"trace", "value": b"1"}]
    assert (row["value"], row["kafka_offset"], row["kafka_key"], row["kafka_headers"]) == (b"{", 102, b"k", headers)
    replay(bucket, accepted({"spec.output": text}))
    found = {one.key: bucket.objects[one.key][0] for _, one in bucket.inventory("clicks")}
    assert len(found) == 2
    assert sorted(b"".join(found.values()).splitlines()) == sorted(record.value or b"" for record in RECORDS)


def test_keys_that_fit_now_are_taken_out_of_quarantine_with_their_null_values() -> None:
    def manifest(type_: str) -> LogPersister:
        value = {"json": {"fields": [{"name": "id", "type": "int64"}]}}
        output = {"parquet": {"tombstones": "null"}}
        return accepted({"spec.output": output, "spec.value": value, "spec.key": {"text": {"type": type_}}})

    bucket = Bucket()
    pairs = [(b"1", b'{"id": 1}'), (b"x", b'{"id": 2}'), (b"y", None), (None, None), (b"z", b"{")]
    store_range(bucket, manifest("int64"), [Record(100 + place, 1, *pair) for place, pair in enumerate(pairs)])

    assert replay(bucket, manifest("string")) == [(2, 1)]

    tables = [
        pq.read_table(io.BytesIO(content)) for key, (content, _) in bucket.objects.items() if key.endswith(".parquet")
    ]
    rows = [row for table in tables if "reason" not in table.column_names for row in table.to_pylist()]
    assert rows == [
        {"id": 1, "key": 1}, {"id": None, "key": None}, {"id": 2, "key": "x"}, {"id": None, "key": "y"}
    ]  # fmt: skip


SOURCE = Source("clicks/_quarantine/1_0_x.parquet", RANGE, "topic-id", 1, 101, 105, 4, "crc32:1", "0")
LESS = Source("clicks/_quarantine/1_0_x.parquet", RANGE, "topic-id", 1, 102, 105, 3, "crc32:2", "0")
BEGUN = Replay(SOURCE, "abcdef123456")
SETTLED = Replay(SOURCE, "abcdef123456", {"clicks/1_0_x.r0.parquet": 4})


@pytest.mark.parametrize(
    ("source", "note", "step"),
    [
        (None, None, Step.DONE),
        (SOURCE, None, Step.BEGIN),
        (SOURCE, BEGUN, Step.WRITE),
        (LESS, BEGUN, Step.CHANGED),
        (None, BEGUN, Step.LOST),
        (SOURCE, SETTLED, Step.DELETE),
        (LESS, SETTLED, Step.DELETE),
        (None, SETTLED, Step.DONE),
        (SOURCE, Replay(LESS, "abcdef123456", {}), Step.CHANGED),
    ],
)
def test_steps(source: Source | None, note: Replay | None, step: Step) -> None:
    assert next_step(source, note) is step
    assert next_step(source, note, is_live=False) is Step.WAIT


def test_only_committed_ranges_are_replayed() -> None:
    assert may_be_written(SOURCE, None), "the group was forgotten: a member may be looking into the bucket"
    assert may_be_written(SOURCE, CommittedOffset(200, None)), "somebody has set it: the same"
    assert may_be_written(SOURCE, committed(199))
    assert may_be_written(SOURCE, pending(100, 200))
    assert may_be_written(SOURCE, pending(100, 200, generation=0))
    assert not may_be_written(SOURCE, committed(200))
    assert not may_be_written(SOURCE, pending(200, 300))
    assert not may_be_written(SOURCE, pending(0, 100, generation=2))
    assert not may_be_written(SOURCE, committed(0, topic_id="another"))


def test_notes_are_read_as_they_were_written() -> None:
    for note in (BEGUN, SETTLED):
        bucket = Bucket({"raw/_logpersister/g/replays/k.json": (json.dumps(note.document()).encode(), {})})
        assert get_replay(bucket.store, "g", "raw/k") == note
    assert len({BEGUN.id, Replay(LESS, BEGUN.revision).id, Replay(SOURCE, "0").id}) == 3
    assert BEGUN.source.range.partition == CLICKS


def test_folders_that_may_be_finished_hear_of_what_comes_out_of_quarantine(bucket: Bucket) -> None:
    finishing = accepted(
        {
            "spec.output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
            "spec.value": {"json": {"fields": [{"name": "id", "type": "string", "required": True}]}},
            "spec.finish": {},
        }
    )
    assert replay(bucket, finishing) == [(2, 2)]
    (key,) = list_arrivals(bucket.store, GROUP)["clicks"]
    ((_, arrival),) = read_arrivals(bucket.store, [key])
    assert (arrival.range, arrival.folders) == (RANGE, ("dt=1970-01-02", "dt=1970-01-05"))


def test_a_hive_table_hears_of_folders_of_what_comes_out_of_quarantine(bucket: Bucket) -> None:
    catalog = {"type": "hive", "uri": "thrift://metastore:9083"}
    registering = accepted(
        {
            "spec.output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
            "spec.value": {"json": {"fields": [{"name": "id", "type": "string", "required": True}]}},
            "spec.table": {"format": "hive", "catalog": catalog, "name": "lake.clicks"},
        }
    )
    assert replay(bucket, registering) == [(2, 2)]
    folders = ["dt=1970-01-02", "dt=1970-01-05"]
    assert list_untold(bucket.store, GROUP, TABLE) == {"clicks": [Untold(folder, 0) for folder in folders]}
