"""What the operator makes of the lag of a resource with ``spec.autoscale``: children, status, condition and events."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from logpersister.manifest import parse
from logpersister.ranges import TopicPartition
from logpersister.report.lag import PartitionLag, summarise
from logpersister_operator.decide.scaling.member_count import autoscale_inputs
from logpersister_operator.observe.lag import NoProgress, WaitBounds
from logpersister_operator.observed_state import Flow, KnownLag, SecretsSeen, UnknownLag
from logpersister_operator.plan import Plan
from tests.unit.kubernetes.samples import CLICKS, NOW, Life, by_reference, condition, pod, resource, verdict

AUTOSCALE: dict[str, Any] = {"minMembers": 1, "maxMembers": 6, "targetLag": "20m"}
MINUTE = timedelta(minutes=1)
OVER, CALM = 25 * 60.0, 60.0
"""Ages of the oldest record."""


class Scaled:
    """A resource of two members, minute by minute."""

    def __init__(self, **autoscale: Any) -> None:
        self.life = Life(resource(members=2, autoscale=AUTOSCALE | autoscale))
        self.now = NOW
        self.stored = self.written = 1000
        self.life.step(now=self.now)
        self.life.get_ready()
        self.plan = self.life.step(now=self.now)

    def minutes(self, count: int, age: float, *, ready: bool = True, **known: Any) -> Plan:
        """Let minutes pass in which so old records wait: 300 are stored in each, and 600 come if that is too old."""
        for _ in range(count):
            self.now += MINUTE
            self.written, self.stored = self.written + (600 if age == OVER else 300), self.stored + 300
            if ready:
                self.life.get_ready()
            found = {"now": self.now, "lag": self.lag(age)} | known
            self.plan = self.life.step(**found)
        return self.plan

    def lag(self, age: float) -> KnownLag:
        partitions = [PartitionLag(TopicPartition("clicks", number), 100, 101, age) for number in range(4)]
        return KnownLag(summarise(partitions, self.now), flow=Flow(self.stored, self.written, {"clicks": age}))

    @property
    def status(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.plan.status["autoscale"]
        return found

    @property
    def members(self) -> int:
        (found,) = self.life.revisions().values()
        return found


def test_members_follow_the_lag_up_to_the_number_of_partitions_and_down() -> None:
    scaled = Scaled()
    assert (scaled.members, scaled.status) == (2, {"members": 2})
    scaled.minutes(2, OVER)
    assert (scaled.members, scaled.plan.status["members"]["desired"]) == (4, 4)
    assert [one.reason for one in scaled.plan.events if "Scaled" in one.reason] == ["ScaledUp"]
    assert scaled.plan.status["summary"]["members"] == "2/4"
    assert verdict(scaled.plan, "Autoscaling") == ("True", "ScaledUp")
    assert (
        "from 2 to 4 at 2026-11-21T12:02:00Z: the oldest record waited 25m00s"
        in condition(scaled.plan, "Autoscaling")["message"]
    )
    assert verdict(scaled.minutes(1, OVER, ready=False), "Autoscaling") == ("False", "MembersNotReady")
    assert verdict(scaled.minutes(2, OVER), "Autoscaling") == ("False", "LimitReached")
    assert "number of partitions" in condition(scaled.plan, "Autoscaling")["message"]
    events = []
    for _ in range(60):
        events += [one.reason for one in scaled.minutes(1, CALM).events]
    assert scaled.members == 3, "150 records a minute are what a member was seen to store"
    assert events.count("ScaledDown") == 1
    assert not [one for one in events if one in ("MembersNotReady", "EnoughMembers")], "holding is no event"
    assert scaled.life.resource["spec"]["members"] == 2, "the spec is the user's"


def test_nothing_changes_while_the_resource_is_not_at_rest_or_the_lag_is_not_known() -> None:
    scaled = Scaled()
    scaled.minutes(1, OVER)
    assert "watch" in scaled.status
    assert verdict(scaled.minutes(1, OVER, lag=UnknownLag("no broker")), "Autoscaling") == ("False", "LagUnknown")
    assert "watch" not in scaled.status
    scaled.minutes(1, OVER)
    known = scaled.status
    told = condition(scaled.plan, "Autoscaling")
    scaled.minutes(1, OVER, lag=None)
    assert scaled.status == known, "an operator that has just started has not asked yet"
    assert condition(scaled.plan, "Autoscaling") == told
    missing = SecretsSeen(missing=("Secret s3",))
    assert verdict(scaled.minutes(5, OVER, secrets=missing), "Autoscaling") == ("False", "SecretMissing")
    scaled.life.annotate(**{"logpersister.dev/paused": "true"})
    assert verdict(scaled.minutes(5, OVER), "Autoscaling") == ("False", "Paused")
    assert (scaled.members, scaled.status["members"]) == (0, 2)
    scaled.life.annotate()
    scaled.minutes(2, CALM)
    assert scaled.members == 2, "as many as before the pause"
    scaled.life.change(output={"text": {"compression": "zstd"}})
    assert verdict(scaled.minutes(5, OVER), "Autoscaling") == ("False", "RollingOut")
    assert scaled.status["members"] == 2
    assert sorted(scaled.life.revisions().values()) == [1, 2], "the canary is watched, and nothing else changes"


def test_members_that_no_node_has_room_for_are_given_up() -> None:
    scaled = Scaled()
    scaled.minutes(2, OVER)
    assert scaled.members == 4
    (revision,) = scaled.life.revisions()
    since = {"type": "PodScheduled", "status": "False", "lastTransitionTime": scaled.now.isoformat()}
    pods = [pod(f"clicks-backup-{revision}-{number}", revision=revision, ready=True) for number in range(4)]
    for one in pods[1::2]:
        one["status"]["conditions"] = [since]
    scaled.life.children |= by_reference(pods)
    scaled.minutes(9, CALM, ready=False)
    assert (scaled.members, verdict(scaled.plan, "Autoscaling")) == (4, ("False", "MembersNotReady"))
    scaled.minutes(1, CALM, ready=False)
    assert scaled.members == 3, "taking more away would take away one that works"
    assert "there was no node for 1 member for 10m00s" in condition(scaled.plan, "Autoscaling")["message"]
    assert [one.reason for one in scaled.plan.events if "Scaled" in one.reason] == ["ScaledDown"]


def failed_behind(scaled: "Scaled") -> str:
    """Let a change fail, whose canary never gets ready, and then the lag grow; return the revision that goes on."""
    stable = next(iter(scaled.life.revisions()))
    for minutes, lag in ((20, CALM), (3, OVER)):
        for _ in range(minutes):
            scaled.minutes(1, lag, ready=False)
            scaled.life.get_ready(stable)
        assert verdict(scaled.plan, "Stalled") == ("True", "RolloutFailed")
    return stable


def test_the_lag_counts_again_when_a_revision_has_failed_and_gone() -> None:
    scaled = Scaled()
    scaled.life.change(output={"text": {"compression": "zstd"}}, rollout={"progressDeadline": "6m"})
    stable = failed_behind(scaled)
    assert scaled.life.revisions() == {stable: 4}
    scaled.life.change(rollout={"progressDeadline": "6m", "attempt": 1})
    scaled.minutes(1, OVER, ready=False)
    assert verdict(scaled.plan, "Autoscaling") == ("False", "RollingOut")


def test_a_failed_revision_that_lets_records_wait_for_a_shorter_time_adds_no_members() -> None:
    scaled = Scaled()
    scaled.life.change(upload={"maxAge": "1m"}, rollout={"progressDeadline": "6m"}, autoscale=AUTOSCALE)
    stable = failed_behind(scaled)
    assert scaled.life.revisions() == {stable: 2}
    assert verdict(scaled.plan, "Autoscaling") == ("False", "RollingOut")


def test_the_spec_says_how_many_members_there_are_once_it_has_no_autoscale_any_more() -> None:
    scaled = Scaled()
    scaled.minutes(2, OVER)
    scaled.life.change(members=5)
    scaled.minutes(1, CALM)
    assert scaled.members == 4, "members of the spec is only the number to begin with"
    scaled.life.change(autoscale=AUTOSCALE | {"maxMembers": 3})
    scaled.minutes(1, CALM)
    assert scaled.members == 3
    scaled.life.change(autoscale=None)
    plan = scaled.minutes(2, CALM)
    assert (scaled.members, plan.status["members"]["desired"]) == (5, 5)
    assert "autoscale" not in plan.status
    assert "Autoscaling" not in [one["type"] for one in plan.status["conditions"]]


def test_a_resource_that_runs_goes_on_with_the_members_that_it_has() -> None:
    life = Life(resource(members=3))
    for _ in range(3):
        life.step()
        life.get_ready()
    life.change(members=1, autoscale=AUTOSCALE)
    life.step()
    assert list(life.revisions().values()) == [3]
    life.resource["status"] = {}
    assert life.step().status["autoscale"]["members"] == 3, "the status was lost"


def test_a_decision_that_is_due_is_made_though_nothing_happens() -> None:
    scaled = Scaled()
    scaled.minutes(1, CALM)
    assert scaled.plan.again_seconds == 600
    old = scaled.lag(CALM)
    scaled.now += 11 * MINUTE
    plan = scaled.life.step(now=scaled.now, lag=old)
    assert (scaled.members, plan.again_seconds) == (2, 5), "Kafka was not asked since"
    scaled.life.step(now=scaled.now, lag=replace(old, summary=replace(old.summary, observed_at=scaled.now)))
    assert scaled.members == 1


def test_each_topic_has_its_own_age_and_target() -> None:
    overrides = [{"topicPattern": "^slow$", "upload": {"maxAge": "1h"}}]
    spec = parse(
        {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister", "metadata": {"name": "a"}}
        | {"spec": resource(overrides=overrides, autoscale={"maxMembers": 9})["spec"]}
    ).spec
    lags = [PartitionLag(CLICKS, 0, 9, 900.0), PartitionLag(TopicPartition("slow", 0), 0, 9, 5400.0)]
    known = KnownLag(summarise(lags, NOW), flow=Flow(0, 18, {"clicks": 900.0, "slow": 5400.0}))
    found = autoscale_inputs(known, spec)
    assert (found.age, found.target, found.partitions) == (5400.0, 7260.0, 2)
    assert 0.48 < found.lag_ratio == found.overall_lag_ratio < 0.5
    stands_still = replace(known, flow=Flow(0, 18, {"clicks": 2 * 900.0}))
    assert autoscale_inputs(stands_still, spec).age == 1800.0, "it is not helped by more members"
    assert autoscale_inputs(stands_still, spec).overall_lag_ratio == found.overall_lag_ratio, (
        "but none is taken away either"
    )
    unknown = replace(known, summary=summarise([PartitionLag(CLICKS, 0, 9, None)], NOW), flow=Flow(0, 9, {}))
    assert (autoscale_inputs(unknown, spec).lag_ratio, autoscale_inputs(unknown, spec).overall_lag_ratio) == (
        0.0,
        float("inf"),
    )


def test_old_timestamps_make_no_record_older_than_the_look_after_which_it_came() -> None:
    """As of a topic that is mirrored: each record is a month old when it comes, and is stored within two minutes."""
    bounds, month = WaitBounds(), 30 * 86_400.0

    def age(position: int, end: int, now: float, said: float | None = month) -> float | None:
        return bounds.bounded([PartitionLag(CLICKS, position, end, said)], now)[0].age_seconds

    assert age(0, 10, 0.0) == month, "it was there before the first look"
    assert age(4, 20, 30.0) == month
    assert age(10, 30, 60.0) == 60.0, "it came after the first look"
    assert age(10, 30, 75.0) == 75.0
    assert age(10, 30, 75.0, said=5.0) == 5.0, "and may be younger"
    assert age(30, 40, 90.0) == 30.0
    assert age(10, 40, 100.0) == month, "somebody has set the offset back"
    assert age(10, 40, 100.0, said=None) is None


def test_a_partition_counts_while_it_is_seen_to_move() -> None:
    no_progress = NoProgress()

    def moving(position: int, age: float | None, now: float) -> bool:
        lags = [PartitionLag(CLICKS, position, 100, age)]
        no_progress.observe(lags, now)
        return no_progress.moving(lags, now) == lags

    assert not moving(5, 1000.0, 0.0), "nobody has seen it move"
    assert moving(6, 1000.0, 30.0)
    assert moving(6, 1000.0, 530.0)
    assert not moving(6, 1000.0, 531.0), "half of that time it has stood still"
    assert moving(7, None, 560.0)
    assert moving(100, 0.0, 590.0), "nothing waits"
