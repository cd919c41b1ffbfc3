"""What an object says about itself, read strictly."""

import pytest

from logpersister.ranges import Range, TopicPartition
from logpersister.storage.facts import ForeignObjectError, parse_facts

RANGE = {
    "group": "g",
    "generation": "2",
    "revision": "0123456789ab",
    "topic": "clicks",
    "topic-id": "",
    "partition": "3",
    "start": "10",
    "end": "20",
}
CONTENT = {"first": "11", "last": "18", "records": "5", "tombstones": "1", "checksum": "crc32:x"}


def test_metadata_alone_or_with_a_document_say_the_same() -> None:
    alone = parse_facts("k", {**RANGE, **CONTENT}, None)
    assert alone == parse_facts("k", RANGE, {**RANGE, **CONTENT})
    assert alone.range == Range(TopicPartition("clicks", 3), 10, 20)
    assert alone.payload is None
    assert (alone.unexplained, parse_facts("k", {**RANGE, **CONTENT, "unexplained": "2"}, None).unexplained) == (0, 2)
    assert (alone.rules, parse_facts("k", {**RANGE, **CONTENT, "rules": "ab"}, None).rules) == (None, "ab")
    assert (alone.parser, parse_facts("k", {**RANGE, **CONTENT, "parser": "json"}, None).parser) == ("bytes", "json")
    assert (alone.horizon, parse_facts("k", {**RANGE, **CONTENT, "horizon": "3600000"}, None).horizon) == (
        None,
        3_600_000,
    )
    assert parse_facts("k", RANGE, {**RANGE, **CONTENT, "payload": "70-9"}).payload == (70, 9)
    assert (alone.topic_id, alone.first, alone.last, alone.records, alone.tombstones) == (None, 11, 18, 5, 1)


@pytest.mark.parametrize(
    ("metadata", "document", "message"),
    [
        ({}, None, "was not written by logpersister: its metadata has no 'group'"),
        (RANGE, None, "its facts document is missing"),
        (RANGE, {**RANGE, "first": "11"}, "its facts document has no 'last'"),
        (RANGE, {**RANGE, **CONTENT, "records": 5}, "its facts document has no 'records'"),
        (RANGE, {**RANGE, **CONTENT, "end": "21"}, "of another object: its 'end' is '21', expected '20'"),
        (
            {**RANGE, **CONTENT, "records": "five"},
            None,
            "metadata 'records' of object 'k' is 'five', expected a number",
        ),
        ({**RANGE, **CONTENT, "last": "20"}, None, r"offsets 11..20 of the range \[10, 20\)"),
        ({**RANGE, **CONTENT, "payload": "70"}, None, "metadata 'payload' of object 'k' is '70', expected two numbers"),
        (
            {**RANGE, **CONTENT, "horizon": "noon"},
            None,
            "metadata 'horizon' of object 'k' is 'noon', expected a number",
        ),
        ({**RANGE, **CONTENT, "first": "9"}, None, "says it holds offsets 9..18"),
    ],
)
def test_what_is_not_whole_or_not_ours_is_refused(
    metadata: dict[str, str], document: dict[str, object] | None, message: str
) -> None:
    with pytest.raises(ForeignObjectError, match=message):
        parse_facts("k", metadata, document)
