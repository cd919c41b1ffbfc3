"""The duty that finishes folders: when it looks, and what it tells."""

from typing import Any, cast

import structlog

from logpersister.member.finishing import FinishDuty
from logpersister.member.listener import Listener
from logpersister.report.finish import FinishReport, finish_document
from logpersister.storage.store import ObjectStore
from tests.unit.finish.world import GROUP, TOPIC, World, hour
from tests.unit.manifest.documents import accepted


class Heard(Listener):
    """What was told."""

    def __init__(self) -> None:
        self.reports: list[FinishReport] = []
        self.finished: list[str] = []
        self.guessed: list[bool] = []
        self.late_records: list[tuple[str, int]] = []

    def finish(self, report: FinishReport) -> None:
        self.reports.append(report)

    def folder_finished(self, topic: str, *, guessed: bool) -> None:
        self.finished.append(topic)
        self.guessed.append(guessed)

    def late(self, topic: str, records: int) -> None:
        self.late_records.append((topic, records))

    def document(self) -> dict[str, Any]:
        return finish_document(self.reports[-1])


class Member:
    """The duty of a member, in a world in memory."""

    def __init__(self) -> None:
        self.world = World()
        self.heard = Heard()
        hours = [{"date": {"granularity": one}} for one in ("day", "hour")]
        spec = {
            "spec.kafka.groupId": GROUP,
            "spec.storage.prefix": "raw",
            "spec.kafka.topics": [TOPIC],
            "spec.output.partitionBy": hours,
            "spec.finish": {"policy": ["manifest", "successFile"], "allowedLateness": "10m"},
        }
        self.duty = FinishDuty(
            accepted(spec),
            self.world,
            cast("ObjectStore", self.world.store),
            self.heard,
            clock=lambda: self.world.seconds,
            now=lambda: self.world.seconds,
        )

    def perform(self, hours: float, *, last: bool = False) -> float:
        self.world.at(hours)
        return self.duty.perform(TOPIC, last=last)


def test_it_tells_what_is_finished_late_and_waiting() -> None:
    member = Member()
    member.world.store_new(0, 0.5, 1.5)
    with structlog.testing.capture_logs() as logs:
        member.perform(1.6)
        assert member.heard.document()["waiting"] == {"count": 0, "first": []}
        member.world.store_new(0, 0.7, 0.8)
        member.perform(2.5)
    document = member.heard.document()
    assert (document["finishedFolders"], document["lateRecords"]) == (1, 2)
    (waiting,) = document["waiting"]["first"]
    assert (waiting["topic"], waiting["folder"], waiting["end"]) == (TOPIC, hour(1), "2026-03-28T02:00:00.000Z")
    assert "has no record of 2026-03-28T02:10:00Z or later" in waiting["reason"]
    assert (member.heard.finished, member.heard.late_records) == ([TOPIC], [(TOPIC, 2)])
    told = [entry for entry in logs if entry["event"].startswith("folder.") and entry["log_level"] != "debug"]
    assert [entry["event"] for entry in told] == ["folder.finished", "folder.late_records"]
    assert (member.heard.guessed, document["guessed"]) == ([False], {"count": 0, "last": None})


def test_it_says_which_partitions_were_taken_for_idle() -> None:
    member = Member()
    member.world.store_new(0, 0.5)
    member.perform(1.2)
    with structlog.testing.capture_logs() as logs:
        member.perform(2.3)
    [told] = [entry for entry in logs if entry["event"] == "folder.finished"]
    assert (told["folder"], told["idle"]) == (hour(0), [0])
    last = {"topic": TOPIC, "folder": hour(0), "idle": [0]}
    assert (member.heard.guessed, member.heard.document()["guessed"]) == ([True], {"count": 1, "last": last})


def test_a_member_that_leaves_looks_whatever_it_has_seen_a_moment_ago() -> None:
    member = Member()
    member.perform(5)
    member.world.store_new(0, 0.5, 4)
    member.perform(5.0001)
    assert member.world.finished() == []
    member.perform(5.0002, last=True)
    assert member.world.finished() == [hour(0)]
