"""Verification of replayed quarantine: at every death of a replay, after several, and where somebody interfered."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from logpersister.pipeline.reader import ReadRequest
from logpersister.verify.deep import DeepResult, DeepVerification
from logpersister.verify.evidence import KafkaView, StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.replays import NotedReplay
from logpersister.verify.tiling import examine
from logpersister.verify.writing import Writing
from tests.unit.formats.samples import Record, batch, with_headers
from tests.unit.pipeline.fakes import FakeRead
from tests.unit.replay.bucket import GROUP, Bucket, KilledError, output_of, store_range
from tests.unit.replay.samples import (
    BUT_1_AND_2,
    NO_PARSER,
    NO_TEXTS,
    NOTHING,
    NUMBERS,
    OUTPUTS,
    RECORDS,
    TEXTS,
    TEXTS_BUT_4,
    TEXTS_OR_NONE,
    by_late,
    noted,
    replay,
    resource,
)
from tests.unit.verify.samples import committed, evidence

Change = Callable[[Bucket], object]


class Reader:
    """Kafka's records of a range, two at a time."""

    def read(self, requests: Sequence[ReadRequest]) -> Iterator[FakeRead]:
        pieces = [RECORDS[begin : begin + 2] for begin in range(0, len(RECORDS), 2)]
        batches = [with_headers(batch(some), [[(b"trace", b"1")]] * 2) for some in pieces]
        return (FakeRead(request.range, batches) for request in requests)


@cache
def writings() -> dict[str, Writing]:
    places = ("append", "folder", "quarantine")
    late = [by_late(to, type_) for to in places for type_ in ("int64", "string", None)]
    keeping = [by_late(to, type_, BUT_1_AND_2[type_]) for to in places for type_ in BUT_1_AND_2]
    formats = [
        resource(type_, required=required, **output)
        for output in OUTPUTS.values()
        for type_, required in (("int64", True), ("string", True), ("string", False))
    ]
    leaving_out = (TEXTS_BUT_4, NO_TEXTS, NOTHING)
    every = (*leaving_out, NUMBERS, TEXTS, TEXTS_OR_NONE, NO_PARSER, *late, *keeping, *formats)
    return {output_of(one).revision.hash: Writing(one.spec, lambda _: None) for one in every}


def verified(bucket: Bucket, *, settled_before: bool = True) -> tuple[list[Finding], DeepResult]:
    found = noted(bucket)
    replays = NotedReplay.of("raw", found if settled_before else [], found)
    objects = []
    for name, listed in bucket.inventory("clicks"):
        facts = bucket.facts(listed.key)
        assert facts is not None
        objects.append(StoredObject(listed.key, name, listed.size, facts, facts.group))
    known = evidence(objects, committed(200, topic_id="id"), replays=replays, kafka=KafkaView("id", 100, 200))
    examination = examine(replace(known, group=GROUP))
    reader: Any = Reader()
    comparison = DeepVerification(reader, bucket.read, writings().__getitem__).compare(examination)
    return examination.findings + comparison.findings, comparison


@pytest.fixture
def bucket() -> Bucket:
    bucket = Bucket()
    store_range(bucket, NUMBERS, RECORDS)
    return bucket


def test_each_record_is_in_one_live_object_after_every_replay(bucket: Bucket) -> None:
    assert verified(bucket) == ([], DeepResult([], len(RECORDS)))
    for manifest in (TEXTS, TEXTS_OR_NONE, NO_PARSER):
        replay(bucket, manifest)
        for settled_before in (True, False):
            assert verified(bucket, settled_before=settled_before) == ([], DeepResult([], len(RECORDS)))
    store_range(bucket, NUMBERS, RECORDS)
    findings, comparison = verified(bucket)
    assert [one.kind for one in findings] == [Kind.REPLAY]
    assert "its records were replayed and are in other objects" in findings[0].message
    assert comparison.compared == len(RECORDS)


@pytest.mark.parametrize("output", OUTPUTS.values(), ids=list(OUTPUTS))
def test_each_record_is_in_one_live_object_in_every_format(output: dict[str, Any]) -> None:
    bucket = Bucket()
    store_range(bucket, resource("int64", **output), RECORDS)
    replay(bucket, resource("string", **output))
    assert verified(bucket) == ([], DeepResult([], len(RECORDS)))
    replay(bucket, resource("string", required=False, **output))
    assert verified(bucket) == ([], DeepResult([], len(RECORDS)))


def test_at_every_death_of_a_replay(bucket: Bucket) -> None:
    initial = dict(bucket.objects)
    replay(bucket, TEXTS)
    kinds: set[tuple[Kind, ...]] = set()
    for number in range(1, bucket.requests + 1):
        dying = Bucket(dict(initial), dies_at=(number, True))
        with contextlib.suppress(KilledError):
            replay(dying, TEXTS)
        dying.dies_at = None
        findings, comparison = verified(dying)
        assert comparison == DeepResult([], len(RECORDS))
        kinds.add(tuple(one.kind for one in findings))
    assert kinds == {(Kind.REPLAY,) * count for count in range(4)}


def _delete(part: str) -> Change:
    return lambda bucket: bucket.objects.pop(next(key for key in sorted(bucket.objects) if part in key))


def _delete_source_of_begun(bucket: Bucket) -> None:
    key = next(key for key in bucket.objects if "/replays/" in key)
    bucket.objects[key] = json.dumps(json.loads(bucket.objects[key][0]) | {"objects": None}).encode(), {}


def _other_count(bucket: Bucket) -> None:
    key = next(key for key in bucket.objects if "/replays/" in key)
    document = json.loads(bucket.objects[key][0])
    document["objects"] = dict.fromkeys(document["objects"], 7)
    bucket.objects[key] = json.dumps(document).encode(), {}


def _other_content(bucket: Bucket) -> None:
    one, other = sorted(key for key in bucket.objects if ".r" in key and "/dt=" in key)
    bucket.objects[one] = bucket.objects[other][0], bucket.objects[one][1]


def _again_as_a_member(bucket: Bucket) -> None:
    """Store a record also as if its range had been written under a schema that accepts it."""
    store_range(bucket, TEXTS, [Record(101, 86_400_000, b"k", b'{"id": "2"}')])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_delete("/dt=1970-01-02/1_0_00000000000000000100.r"), {Kind.MISSING}),
        (_delete("raw/clicks/_quarantine/"), {Kind.MISSING}),
        (_delete("/replays/"), {Kind.WRONG_FACTS, Kind.UNREADABLE, Kind.MISSING}),
        (_delete_source_of_begun, {Kind.MISSING, Kind.REPLAY}),
        (_other_count, {Kind.WRONG_FACTS}),
        (_other_content, {Kind.WRONG_CONTENT}),
        (_again_as_a_member, {Kind.WRONG_FACTS}),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_what_somebody_did_is_found(bucket: Bucket, change: Change, expected: set[Kind]) -> None:
    replay(bucket, TEXTS)
    change(bucket)
    findings, _ = verified(bucket)
    assert {one.kind for one in findings} == expected
