"""``spec.finish``: which layouts have folders by time, also with overrides; the names of files."""

from typing import Any

import pytest

from logpersister.manifest.blocks.finish import FinishSpec, has_time_folders
from logpersister.records.time_folders import time_folders
from tests.unit.manifest.documents import REMOVE, accepted, problems

DAY, HOUR = ({"date": {"granularity": one}} for one in ("day", "hour"))
BERLIN = {"date": {"granularity": "hour", "timezone": "Europe/Berlin"}}
OFFSET = {"offset": {"every": 100}}
NONE = "needs folders by time"


def finishing(levels: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"spec.finish": {}, "spec.output.partitionBy": levels} | more


@pytest.mark.parametrize("levels", [[DAY], [DAY, HOUR], [OFFSET, DAY, HOUR], [DAY, HOUR, OFFSET]])
def test_levels_by_date_that_stand_together(levels: list[dict[str, Any]]) -> None:
    rules = accepted(finishing(levels)).spec.output.partition_by
    assert has_time_folders(rules)
    assert time_folders(rules) is not None


@pytest.mark.parametrize("levels", [[], [OFFSET], [DAY, OFFSET, HOUR], [DAY, BERLIN], [HOUR, DAY]])
def test_others_are_refused(levels: list[dict[str, Any]]) -> None:
    (found,) = problems(finishing(levels))
    assert NONE in str(found)
    rules = accepted({"spec.output.partitionBy": levels}).spec.output.partition_by
    assert not has_time_folders(rules)
    assert time_folders(rules) is None


def test_a_topic_whose_override_has_no_date_has_no_folders_to_finish() -> None:
    others = {"topics": ["b"], "output": {"partitionBy": [OFFSET]}}
    spec = accepted(finishing([DAY], **{"spec.kafka.topics": ["a", "b"], "spec.overrides": [others]})).spec
    assert spec.for_topic("a").finish == FinishSpec()
    assert spec.for_topic("b").finish is None


def test_a_topic_of_the_group_is_told_of_nothing() -> None:
    told = {"policy": ["kafka"], "kafka": {"topic": "a"}}
    (found,) = problems(finishing([DAY], **{"spec.kafka.topics": ["a"], "spec.finish": told}))
    assert 'spec.finish.kafka.topic: "a" is a topic that the group stores' in found


def test_a_topic_that_the_pattern_selects_is_told_of_nothing() -> None:
    pattern = {"spec.kafka.topics": REMOVE, "spec.kafka.topicPattern": "^a"}
    told = {"policy": ["kafka"], "kafka": {"topic": "about-a"}}
    (found,) = problems(finishing([DAY], **pattern, **{"spec.finish": told}))
    assert "spec.finish.kafka.topic" in found
    accepted(finishing([DAY], **pattern, **{"spec.finish": {**told, "kafka": {"topic": "b"}}}))
