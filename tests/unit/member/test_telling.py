"""The duties that tell others of folders: when they look, and what they say of it."""

from typing import Any, cast

import pytest

from logpersister.finish.telling import NotTakenError
from logpersister.member.listener import Listener
from logpersister.member.telling import TellDuty
from logpersister.report.finish import TellingReport
from logpersister.storage.store import ObjectStore
from tests.unit.finish.test_telling import Receiver, told_world
from tests.unit.finish.world import GROUP, TOPIC
from tests.unit.manifest.documents import accepted

HOOK = {"policy": ["webhook"], "webhook": {"url": "http://h"}}


class Heard(Listener):
    """What was said."""

    def __init__(self) -> None:
        self.reports: list[TellingReport] = []
        self.counted: list[tuple[str, str, int, int]] = []

    def telling(self, report: TellingReport) -> None:
        self.reports.append(report)

    def told(self, policy: str, topic: str, folders: int, refused: int) -> None:
        self.counted.append((policy, topic, folders, refused))


class Member:
    """The duty of a member, in a world in memory where two folders are to be told."""

    def __init__(self) -> None:
        self.world, self.receiver, self.heard = told_world(), Receiver(), Heard()
        self.world.look()
        self.seconds = 0.0
        spec: dict[str, Any] = {
            "spec.kafka.groupId": GROUP,
            "spec.storage.prefix": "raw",
            "spec.kafka.topics": [TOPIC],
            "spec.output.partitionBy": [{"date": {"granularity": "hour"}}],
            "spec.finish": HOOK,
        }
        store = cast("ObjectStore", self.world.store)
        self.duty = TellDuty(accepted(spec), self.receiver, store, self.heard, clock=lambda: self.seconds)

    def perform(self) -> float:
        self.seconds += 100
        return self.duty.perform(TOPIC, last=False)


def test_it_tells_and_says_so() -> None:
    member = Member()
    assert (member.perform(), member.duty.name) == (5.0, "webhook")
    assert [report.untold for report in member.heard.reports] == [2, 0]
    assert member.heard.counted == [("webhook", TOPIC, 2, 0)]
    assert (member.perform(), member.receiver.sessions) == (5.0, 1)
    assert member.heard.reports[-1] == TellingReport("webhook", told=2)


def test_what_fails_stays_untold_until_the_topic_goes_to_another_member() -> None:
    member = Member()

    def is_away(_: object) -> None:
        raise NotTakenError("it answered 503")

    member.receiver.before = is_away
    with pytest.raises(NotTakenError):
        member.perform()
    assert member.heard.reports[-1].untold == 2
    member.duty.forget(TOPIC)
    assert member.heard.reports[-1].untold == 0
