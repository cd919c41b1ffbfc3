"""Members that own partitions and make no progress with them, by the reports of Kafka and of the members. Pure.

Kafka has to agree each time: committed offsets of partitions that it assigns to the member make no progress though
their records should have been stored. That alone is no proof, since a member may be overloaded. So the member's own
report has to show the cause.
docs/operations.md has the rules.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from logpersister.manifest.spec import Spec
from logpersister.ranges import TopicPartition
from logpersister.report.human import instant
from logpersister_operator.decide.health.departed_members import members_of
from logpersister_operator.decide.lag_targets import due_seconds
from logpersister_operator.decide.reported import Report, Reported
from logpersister_operator.decide.validity import manifest_of_revision
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import KnownLag, LagAnswer, OwnObjects
from logpersister_operator.render import instance_ids
from logpersister_operator.render.application import REVISION_LABEL

PATIENCE: Final = timedelta(minutes=8)
"""How long nothing may be heard of work: a bucket that takes connections and says nothing shows as an error only after
six attempts of a minute."""
SLOWEST: Final = 1 << 20
"""Bytes of objects that a member makes in a second at least, however slow the bucket is."""
QUEUED: Final = 8
"""Full-size ranges that a member may have before it for each core when the next one becomes due."""
FAILING: Final = timedelta(minutes=10)
"""How long a failure counts as present: the next attempt may take as long as `PATIENCE`."""
NAMED: Final = 3
"""Partitions that a message names."""

_time = datetime.fromisoformat
_SHARING_OUT: Final = frozenset({"PreparingRebalance", "CompletingRebalance"})


class Cause(StrEnum):
    """Why a member is stalled, as far as that is observable."""

    SILENT = "its /status does not answer"
    JOB = "a Spark job makes no progress"
    NO_EXECUTORS = "it has no executor"
    NOTHING_STORED = "it stores nothing"
    PARTITION = "its other partitions make progress"
    FAILURES = "its ranges fail"


@dataclass(frozen=True, slots=True)
class StalledMember:
    """A member that makes no progress with its partitions."""

    pod: Pod
    since: datetime
    cause: Cause
    partitions: tuple[TopicPartition, ...]
    """The partitions without progress, sorted."""

    @property
    def member(self) -> str:
        return self.pod.name

    def __str__(self) -> str:
        names = ", ".join(map(str, self.partitions[:NAMED]))
        more = f" and {len(self.partitions) - NAMED} more" if len(self.partitions) > NAMED else ""
        count, verb = ("partition", "does") if len(self.partitions) == 1 else ("partitions", "do")
        since = instant(self.since)
        return f"member {self.member} hangs since {since}: {self.cause}; {count} {names}{more} {verb} not move"


@dataclass(frozen=True, slots=True)
class StalledMembers:
    """All stalled members of a resource."""

    found: tuple[StalledMember, ...]
    """The one that is stalled for the longest time first, without those whose ranges fail."""
    failing: tuple[StalledMember, ...]
    """Members whose ranges fail."""
    holders: int
    """The number of members that own partitions."""

    @property
    def alike(self) -> bool:
        """Whether most members are stalled: most likely the cause is what they share, which no restart cures."""
        count = len(self.found) + len(self.failing)
        return count > 1 and 2 * count > self.holders


def find_stalled_members(spec: Spec, own: OwnObjects, reported: Reported, lag: LagAnswer) -> StalledMembers | None:
    """Return the stalled members; None while that is unknown: Kafka does not answer, or the group rebalances."""
    if not isinstance(lag, KnownLag) or lag.group is None or lag.group.state in _SHARING_OUT:
        return None
    ours = members_of(own.stateful_sets().values())
    pods = {pod.name: pod for pod in own.pods() if pod.is_ready and pod.name in ours}
    holders = {instance_ids.pod_of(one.name, own.owner): one.assignment for one in lag.group.members if one.assignment}
    found: list[StalledMember] = []
    for name in sorted(holders.keys() & pods.keys() & reported.by_name.keys()):
        running = _running_spec(own, spec, pods[name])
        overdue = {one: _overdue(lag, one, spec, running) for one in holders[name] & lag.overdue.keys()}
        since = {one: lag.summary.observed_at - timedelta(seconds=by) for one, by in overdue.items() if by >= 0}
        stalled = _judged(reported, running, pods[name], since)
        if stalled is not None:
            found.append(stalled)
    found.sort(key=lambda stalled: (stalled.since, stalled.member))
    failing = tuple(stalled for stalled in found if stalled.cause is Cause.FAILURES)
    others = tuple(stalled for stalled in found if stalled.cause is not Cause.FAILURES)
    return StalledMembers(others, failing, len(holders))


def stores(reported: Reported, since: datetime, without: Iterable[str]) -> bool:
    """Whether a member, of others than these, has stored something since."""
    excluded = set(without)
    last = [
        report.document["uploads"]["last"]
        for name, report in reported.by_name.items()
        if report.document is not None and name not in excluded
    ]
    return any(time is not None and datetime.fromisoformat(time) > since for time in last)


def _running_spec(own: OwnObjects, spec: Spec, pod: Pod) -> Spec:
    """Return what a member runs: that may be an older revision, which is in no hurry."""
    manifest = manifest_of_revision(own, pod.labels.get(REVISION_LABEL))
    return spec if manifest is None else manifest.spec


def _overdue(lag: KnownLag, partition: TopicPartition, spec: Spec, running: Spec) -> float:
    """Return for how many seconds a partition has been overdue by what its member runs, too."""
    later = due_seconds(running, partition.topic) - due_seconds(spec, partition.topic)
    return lag.overdue[partition] - max(0.0, later)


def _judged(
    reported: Reported, spec: Spec, pod: Pod, overdue: Mapping[TopicPartition, datetime]
) -> StalledMember | None:
    document = reported.by_name[pod.name].document
    waiting = {one: since for one, since in overdue.items() if not _is_held(document, one)}
    if not waiting:
        return None
    since = max(min(waiting.values()), pod.conditions["Ready"].since or reported.now)
    found: tuple[Cause, datetime] | None
    if document is None:
        if not reported.documents:
            return None  # the way to all of them may be closed, and the kubelet looks from where they are
        found = Cause.SILENT, reported.silent.get(pod.name, reported.now)
    else:
        found = _own_account(document, reported.now, spec, waiting)
    if found is None:
        return None
    return StalledMember(pod, _coarse(max(since, found[1])), found[0], tuple(sorted(waiting)))


def _own_account(
    document: Report, seen: datetime, spec: Spec, waiting: Mapping[TopicPartition, datetime]
) -> tuple[Cause, datetime] | None:
    """Return why a member is stalled by its own report, and since when; None when it makes progress.

    Times of the report are compared with the member's own clock; ``seen`` is by the operator's clock.
    """
    now, first = _time(document["observedAt"]), min(waiting.values())
    if document["state"] != "running" or "progress" not in document:  # the latter is of an older version
        return None
    if any(_is_about(error, waiting, now) for error in document["errors"]["recent"]):
        return Cause.FAILURES, first
    jobs: list[Report] = document["progress"]["jobs"]
    if document["executors"] == 0:
        return Cause.NO_EXECUTORS, first
    hung = [end for job in jobs if (end := _time(job["progressAt"]) + _patience(job["estimatedBytes"])) < now]
    if hung:
        return Cause.JOB, min(hung)
    last = _time(document["progress"]["at"] or document["startedAt"]) + PATIENCE
    if not jobs and last < now:
        return Cause.NOTHING_STORED, last
    return _left_behind(document, seen, spec, waiting)


def _left_behind(
    document: Report, seen: datetime, spec: Spec, waiting: Mapping[TopicPartition, datetime]
) -> tuple[Cause, datetime] | None:
    """Judge the partition whose record is the oldest: it is the first to be promised, and waits for few others."""
    lag, jobs = document["lag"], document["progress"]["jobs"]
    worst = lag["worst"][0] if lag["known"] and lag["worst"] else None
    if worst is None:
        return None
    partition = TopicPartition(worst["topic"], worst["partition"])
    if partition not in waiting or any(_may_have(job, partition) for job in jobs):
        return None
    queue = _patience(QUEUED * spec.limits_of(partition.topic).max_bytes)
    since = waiting[partition] + queue
    return (Cause.PARTITION, since) if since < seen else None


def _may_have(job: Report, partition: TopicPartition) -> bool:
    partitions = job["partitions"]
    return partitions["count"] > len(partitions["first"]) or str(partition) in partitions["first"]


def _is_held(document: Report | None, partition: TopicPartition) -> bool:
    """Whether a partition waits for a person; also when there are more of them than the member names."""
    if document is None:
        return False
    held = document["heldPartitions"]
    named = {TopicPartition(one["topic"], one["partition"]) for one in held["first"]}
    return partition in named or held["count"] > len(named)


def _is_about(error: Report, waiting: Mapping[TopicPartition, datetime], now: datetime) -> bool:
    """Whether a failure is present, and what waits may wait because of it."""
    if now - _time(error["time"]) > FAILING:
        return False
    return error["topic"] is None or TopicPartition(error["topic"], error["partition"]) in waiting


def _patience(size: int) -> timedelta:
    return PATIENCE + timedelta(seconds=size / SLOWEST)


def _coarse(time: datetime) -> datetime:
    """Return a time that stays the same though it is measured anew: what nobody needs to know exactly is no news."""
    return time.replace(second=time.second // 10 * 10, microsecond=0)
