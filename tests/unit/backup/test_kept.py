"""Which groups can be a backup of which, and which of their objects cannot."""

from typing import Any

import pytest

from logpersister.backup.kept import extensions, flaw, lacking, unfit
from logpersister.manifest.spec import Spec
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.facts import ObjectFacts
from tests.unit.manifest.documents import spec_with

ROWS = {"value": {"json": {"fields": [{"name": "id", "type": "int64"}]}}}
BY_DAY = [{"date": {"granularity": "day"}}]
MESSAGEPACK = {"sequencefile": {"key": "messagepack"}}


def of(output: dict[str, Any], **sections: Any) -> Spec:
    return spec_with(output=output, **sections)


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (of({"kafka": {}}), None),
        (of({"jsonl": {}}), None),
        (of(MESSAGEPACK), None),
        (of({"text": {}}), None),
        (of({"parquet": {}}), "spec.output is parquet; records are read back from kafka, jsonl, sequencefile, text"),
        (of({"jsonl": {}}, **ROWS), "spec.value, spec.key or spec.types makes something else"),
        (of({"text": {}}, value={"json": {}}), "spec.value, spec.key or spec.types makes something else"),
        (of({"text": {}, "partitionBy": BY_DAY}), "spec.output.partitionBy or spec.keep is set"),
        (of({"text": {}}, keep=[{"header": "a", "in": ["b"]}]), "spec.output.partitionBy or spec.keep is set"),
        (of({"jsonl": {"kafkaColumns": ["offset", "key"]}}), "kafkaColumns has no timestamp, headers"),
    ],
)
def test_a_backup_has_records_as_they_were(spec: Spec, told: str | None) -> None:
    found = unfit(spec)
    assert (found is None) if told is None else (found is not None and told in found)


@pytest.mark.parametrize(
    ("live", "first_lacks", "all_lack"),
    [
        (of({"text": {}}), None, None),
        (of({"parquet": {}}, **ROWS), None, None),
        (of({"parquet": {}, "partitionBy": [{"field": "id", "prefix": "of="}]}, **ROWS), None, None),
        (of({"jsonl": {"kafkaColumns": ["topic", "partition", "offset"]}}), None, None),
        (of({"text": {}, "partitionBy": BY_DAY}), "timestamp", None),
        (of(MESSAGEPACK), "key", None),
        (of({"parquet": {"kafkaColumns": ["timestamp"]}}), "timestamp", None),
        (of({"parquet": {}}, key={"text": {}}, **ROWS), "key", None),
        (of({"jsonl": {}}), "key", "headers"),
        (of({"text": {}}, keep=[{"header": "a", "in": ["b"]}]), "headers", "headers"),
    ],
)
def test_what_an_output_needs_must_be_kept(live: Spec, first_lacks: str | None, all_lack: str | None) -> None:
    for kept, missing in (({"text": {}}, first_lacks), ({"sequencefile": {}}, first_lacks), (MESSAGEPACK, all_lack)):
        found = lacking(of(kept), live)
        assert (found is None) == (missing is None)
        assert missing is None or f"needs the {missing} of records" in str(found)
    assert lacking(of({"kafka": {}}), live) is lacking(of({"jsonl": {}}), live) is None


def facts(*, records: int = 10, tombstones: int = 0) -> ObjectFacts:
    range_ = Range(TopicPartition("clicks", 0), 0, 20)
    return ObjectFacts("group", 1, "abc", "id", range_, 5, 14, records, tombstones, "crc32:0-0-0-0")


@pytest.mark.parametrize(
    ("output", "made", "told"),
    [
        ({"kafka": {}}, facts(records=3, tombstones=3), None),
        ({"jsonl": {"tombstones": "null"}}, facts(records=3, tombstones=3), None),
        ({"jsonl": {}}, facts(tombstones=3), "3 of its records have null values, which jsonl does not keep"),
        (MESSAGEPACK, facts(records=3), None),
        (MESSAGEPACK, facts(tombstones=1), "null values, which sequencefile does not keep"),
        ({"text": {}}, facts(), None),
        ({"text": {}}, facts(records=9), "offsets of its records have gaps"),
    ],
)
def test_an_object_in_which_a_record_has_no_place_has_a_flaw(
    output: dict[str, Any], made: ObjectFacts, told: str | None
) -> None:
    found = flaw(of(output), made)
    assert (found is None) if told is None else (found is not None and told in found)


def test_objects_are_found_by_their_endings() -> None:
    assert extensions(of({"text": {}})) == {".txt", ".txt.gz", ".txt.zst"}
    assert extensions(of({"kafka": {}})) == {".kafka"}
    assert extensions(of({"orc": {}})) == frozenset()
