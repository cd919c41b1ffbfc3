"""Duties: for which topics they run, when again, and that what fails delays nothing else."""

import threading
from collections.abc import Callable, Collection
from itertools import pairwise

import pytest
import structlog

from logpersister.member.duties import STUCK_SECONDS, DutyThread, performing
from logpersister.member.listener import Listener
from logpersister.ranges import TopicPartition
from logpersister.report.duties import DutyReport
from logpersister.report.plain import plain
from tests.unit.report.samples import NOON

CLICKS, VIEWS = TopicPartition("clicks", 0), TopicPartition("views", 0)
PAUSE = 60.0


class Recorder(Listener):
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.reports: list[DutyReport] = []
        self.attempts: list[tuple[float, bool]] = []

    def duty(self, report: DutyReport) -> None:
        self.reports.append(report)

    def performed(self, duty: str, topic: str, seconds: float, error: Exception | None) -> None:
        self.attempts.append((seconds, error is not None))


class World:
    """A clock, an assignment, and a duty."""

    name = "fake"
    at_once = 1

    def __init__(self, *owned: TopicPartition) -> None:
        self.time = 1000.0
        self.owned: Collection[TopicPartition] = set(owned)
        self.recorder = Recorder()
        self.done: list[str] = []
        self.forgotten: list[str] = []
        self.failing: set[str] = set()
        self.meanwhile: Callable[[], None] = lambda: None
        self.thread = DutyThread(
            self, lambda: self.owned, self.recorder, clock=lambda: self.time, now=lambda: NOON, jitter=lambda: 1.0
        )

    def concerns(self, topic: str) -> bool:
        return not topic.startswith("other")

    def perform(self, topic: str, *, last: bool) -> float:
        self.done.append(topic + "!" * last)
        self.meanwhile()
        if topic in self.failing:
            raise OSError(f"{topic}: the catalog is away")
        return PAUSE

    def forget(self, topic: str) -> None:
        self.forgotten.append(topic)

    def after(self, seconds: float) -> list[str]:
        """Return for which topics the duty is done so much later."""
        self.time += seconds
        before = len(self.done)
        self.thread.turn()
        return self.done[before:]

    @property
    def report(self) -> DutyReport:
        return self.recorder.reports[-1]


def test_only_topics_whose_first_partition_is_ours_and_that_are_concerned() -> None:
    world = World(CLICKS, TopicPartition("clicks", 1), TopicPartition("views", 1), TopicPartition("other", 0))
    assert world.after(0) == ["clicks"]
    assert world.report == DutyReport("fake", topics=1)


def test_a_topic_that_fails_is_tried_less_and_less_often_and_others_go_on() -> None:
    world = World(CLICKS, VIEWS)
    world.failing = {"clicks"}
    assert world.after(0) == ["clicks", "views"]
    tried_at = [world.time]
    while len(tried_at) < 12:
        if "clicks" in world.after(1):
            tried_at.append(world.time)
    pauses = [later - earlier for earlier, later in pairwise(tried_at)]
    assert 2 <= pauses[0] <= 6
    assert all(140 <= pause <= 301 for pause in pauses[-3:])
    assert world.done.count("views") > 10


def test_failures_are_shown_until_it_works_again() -> None:
    world = World(CLICKS, VIEWS)
    world.failing = {"clicks"}
    with structlog.testing.capture_logs() as logs:
        world.after(0)
        world.after(400)
        (failing,) = plain(world.report.first_failing)
        world.failing = set()
        world.after(400)
    message = "clicks: the catalog is away"
    since = "2026-11-21T12:00:00.000Z"
    assert failing == {"topic": "clicks", "failures": 2, "message": message, "since": since, "hangs": False}
    assert world.report == DutyReport("fake", topics=2)
    assert [entry["event"] for entry in logs] == ["duty.failed", "duty.failed", "duty.works_again"]
    assert [failed for _, failed in world.recorder.attempts] == [True, False, True, False, False, False]


def test_an_attempt_that_does_not_end_is_told_by_others_until_it_ends() -> None:
    world = World(CLICKS, VIEWS)

    def hangs() -> None:
        for seconds, told in ((STUCK_SECONDS - 1, []), (1, ["clicks"]), (1, ["clicks"])):
            world.time += seconds
            world.thread.report()
            assert [one.topic for one in world.report.first_failing] == told
        world.meanwhile = lambda: None

    world.meanwhile = hangs
    with structlog.testing.capture_logs() as logs:
        world.after(0)
    told = next(report for report in world.recorder.reports if report.failing)
    (failing,) = plain(told.first_failing)
    assert (failing["hangs"], failing["failures"], failing["message"]) == (True, 0, "its attempt does not end")
    assert world.report == DutyReport("fake", topics=2)
    assert [entry["event"] for entry in logs] == ["duty.hangs", "duty.works_again"]


def test_of_a_duty_for_several_topics_at_once_a_slow_one_delays_no_other() -> None:
    world, may_end, views = World(CLICKS, VIEWS), threading.Event(), threading.Event()
    world.at_once = 2
    began = threading.Barrier(2, timeout=10)

    def meanwhile() -> None:
        began.wait()  # both are in the middle of their first attempt
        world.meanwhile = lambda: views.set() if world.done.count("views") > 3 else None
        if threading.current_thread() is slow[0]:
            may_end.wait(10)

    slow: list[threading.Thread] = []
    perform = world.perform

    def remember(topic: str, *, last: bool) -> float:
        if topic == "clicks":
            slow.append(threading.current_thread())
        perform(topic, last=last)
        return 0.0

    world.perform, world.meanwhile = remember, meanwhile  # type: ignore[method-assign]
    with performing([world], lambda: world.owned, Recorder()):
        assert views.wait(10), "its turn comes again and again"
        assert world.done.count("clicks") == 1
        may_end.set()


def test_a_topic_that_has_gone_is_forgotten_and_begins_anew() -> None:
    world = World(CLICKS)
    world.failing = {"clicks"}
    world.after(0)
    world.owned = ()
    assert (world.after(1), world.forgotten, world.report) == ([], ["clicks"], DutyReport("fake"))
    world.owned = {CLICKS}
    assert world.after(0) == ["clicks"], "its pause is over"


def test_the_last_time_each_topic_s_turn_comes_due_or_not() -> None:
    world = World(CLICKS, VIEWS)
    assert world.after(0) == ["clicks", "views"]
    assert world.thread.once_more()
    assert world.done == ["clicks", "views", "clicks!", "views!"]
    world.failing = {"views"}
    assert not world.thread.once_more()
    assert (world.done[4:], world.recorder.reports[-1].failing) == (["clicks!", "views!"], 1)


def test_the_last_time_waits_for_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logpersister.member.duties.STOP_SECONDS", 0.01)
    world, begun, may_end = World(CLICKS), threading.Event(), threading.Event()

    def takes_long() -> None:
        begun.set()
        may_end.wait(10)

    world.meanwhile = takes_long
    with performing([world], lambda: world.owned, world.recorder) as once_more:
        begun.wait(10)
        threading.Timer(0.1, may_end.set).start()
        assert once_more()
    assert world.done == ["clicks", "clicks!"]


def test_a_member_that_leaves_ends_the_threads_first() -> None:
    world = World(CLICKS)
    with performing([world], lambda: world.owned, world.recorder) as once_more:
        assert once_more()
        assert not [thread for thread in threading.enumerate() if thread.name == "duty-fake"]
    with performing([], lambda: world.owned, world.recorder) as once_more:
        assert once_more()
