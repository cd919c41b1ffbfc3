"""Where groups go on, and which of them are left alone."""

from pathlib import Path

import pytest

from logpersister.ranges import TopicPartition
from logpersister.restore.groups import MovedOffset, moved, of_topics, read_groups, to_set
from logpersister.restore.offset_table import OffsetMap
from logpersister.restore.plan import RestoreError

ONE, TWO, OTHER = TopicPartition("clicks", 0), TopicPartition("clicks", 1), TopicPartition("other", 0)
NEW_ONE, NEW_TWO = TopicPartition("again", 0), TopicPartition("again", 1)


def offsets(*olds: int) -> OffsetMap:
    found = OffsetMap()
    for old in olds:
        found.add_run(old, 1)
    return found


def test_offsets_of_what_is_restored() -> None:
    groups = {"billing": {ONE: 12, TWO: 7, OTHER: 3}, "search": {ONE: 99}}
    found = moved(groups, {ONE: offsets(10, 11, 13), TWO: offsets()}, {ONE: NEW_ONE, TWO: NEW_TWO}, {ONE: 14})
    assert list(found) == [
        MovedOffset("billing", ONE, NEW_ONE, 12, 2, is_ahead=False),
        MovedOffset("billing", TWO, NEW_TWO, 7, 0, is_ahead=False),
        MovedOffset("search", ONE, NEW_ONE, 99, 3, is_ahead=True),
    ]


def test_only_groups_of_these_topics_count() -> None:
    groups = {"billing": {ONE: 12, OTHER: 3}, "search": {OTHER: 99}, "idle": {}}
    assert of_topics(groups, ["clicks"]) == {"billing": {ONE: 12}}


def test_a_group_that_has_gone_on_is_left_alone() -> None:
    moves = [
        MovedOffset("billing", ONE, NEW_ONE, 12, 2, is_ahead=False),
        MovedOffset("billing", TWO, NEW_TWO, 5, 1, is_ahead=False),
    ]
    assert to_set(moves, {"billing": {NEW_ONE: 50}}) == ({"billing": {NEW_TWO: 1}}, [moves[0]])


def test_what_kafka_exports_is_read(tmp_path: Path) -> None:
    file = tmp_path / "groups.csv"
    file.write_text('"billing","clicks",0,12\nbilling,clicks,1,7\r\n\nsearch,clicks,0,3\n')
    assert read_groups(file) == {"billing": {ONE: 12, TWO: 7}, "search": {ONE: 3}}
    file.write_text("billing,clicks,0,12\nclicks,0,12\n")
    with pytest.raises(RestoreError, match=r"groups\.csv:2: expected group,topic,partition,offset"):
        read_groups(file)
    for wrong in (
        b"billing,clicks,-1,5",
        b"billing,clicks,0,-5",
        b"billing,clicks,0,-",
        b"\xff\xfeb",
        b'a,"b,0,1',
        b"\0",
    ):
        file.write_bytes(wrong)
        with pytest.raises(RestoreError, match=r"groups\.csv.*expected group,topic,partition,offset"):
            read_groups(file)
    with pytest.raises(RestoreError, match="cannot be read"):
        read_groups(tmp_path / "none.csv")
