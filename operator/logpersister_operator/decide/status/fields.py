"""The status of a resource, from what is observed. Its size is bounded, whatever the number of partitions."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from logpersister.group.answers import GroupDescription
from logpersister.report.human import duration, number, size
from logpersister.report.lag import GenerationShare
from logpersister_operator.crd import status_members, status_records
from logpersister_operator.crd.status import Status, Summary
from logpersister_operator.crd.status_rollout import MOST_BEGINNINGS, MOST_GENERATIONS, Beginning, GenerationState
from logpersister_operator.decide.conditions import Verdict
from logpersister_operator.decide.health import rebalance_storms
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Reported
from logpersister_operator.decide.status import upload_failures
from logpersister_operator.decide.status.verdicts import Readiness
from logpersister_operator.decide.validity import manifest_of
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import KnownLag, LagAnswer, OwnObjects, Stored, UnknownLag
from logpersister_operator.render.application import REVISION_LABEL
from logpersister_operator.rollout import fleet
from logpersister_operator.rollout.fleet import Fleet

UNKNOWN = "Unknown"


def lag(found: LagAnswer, before: status_records.Lag | None) -> status_records.Lag | None:
    """Return the lag of the group; None while it is not known: it is never shown as 0."""
    if found is None:
        return before
    if isinstance(found, UnknownLag):
        return None
    summary = found.summary
    stuck = {one.partition for one in found.stuck}
    return status_records.Lag(
        records=summary.records,
        seconds=_whole(summary.seconds),
        partitions=summary.partitions,
        behind=summary.behind,
        worst=tuple(
            status_records.PartitionLag(
                topic=one.partition.topic,
                partition=one.partition.partition,
                records=one.records,
                seconds=_whole(one.age_seconds),
                stuck=True if one.partition in stuck else None,
            )
            for one in summary.worst[: status_records.MOST_WORST]
        ),
    )


def uploads(reported: Reported, stored: Stored | None) -> status_records.Uploads | None:
    """Return what members have stored; None when none of them has ever answered."""
    before = reported.before.uploads
    if stored is None:
        return before
    last = [one["uploads"]["last"] for one in reported.documents]
    times = [datetime.fromisoformat(time) for time in last if time is not None]
    failed = upload_failures.remembered(reported.documents)
    if before is not None:
        times += [] if before.last is None else [before.last]
        failed += [] if before.last_failure is None else [before.last_failure]
    return status_records.Uploads(
        objects=stored.objects,
        bytes=stored.bytes,
        records=stored.records,
        dropped=stored.dropped or None,
        late=stored.late or None,
        last=max(times, default=None),
        failures=stored.failures,
        failures_last_hour=stored.failures_last_hour,
        last_failure=upload_failures.told(failed),
    )


def members(reported: Reported, pods: Iterable[Pod], readiness: Readiness) -> status_members.Members:
    """Return the members; of many, first those that are not ready."""
    listed = sorted(pods, key=lambda pod: (pod.is_ready, pod.name))[: status_members.MOST_MEMBERS]
    listed.sort(key=lambda pod: pod.name)
    section = reported.before.members if reported.by_pod is None else None
    before = {member.name: member for member in section.list} if section is not None else {}
    shown = tuple(_member(pod, reported, before.get(pod.name)) for pod in listed)
    return status_members.Members(desired=readiness.wanted, ready=readiness.ready, list=shown)


def rebalance(reported: Reported, group: GroupDescription | None, wanted: int) -> status_members.Rebalance | None:
    """Return how partitions move, as members see it; None when none of them answers."""
    before = reported.before.rebalance
    if reported.by_pod is None:
        return before
    shares = [member.partitions for member in group.members] if group is not None else []
    found = reported.documents
    if not found:
        return None
    states = [document["state"] for document in found]
    settled = len(found) >= wanted and all(state == "running" for state in states)
    seen = [document["rebalance"] for document in found]
    seen_by_members = "Stable" if settled else "Rebalancing"
    group_generation = max((one["groupGeneration"] for one in seen if one["groupGeneration"] is not None), default=None)
    since = rebalance_storms.counted(reported.now, group_generation, before)
    return status_members.Rebalance(
        state=seen_by_members if group is None else group.state,
        fewest_partitions=min(shares, default=None),
        most_partitions=max(shares, default=None),
        group_generation=group_generation,
        count=max(one["count"] for one in seen),
        last=max((datetime.fromisoformat(one["last"]) for one in seen if one["last"] is not None), default=None),
        counted_since=None if since is None else since[0],
        counted_from=None if since is None else since[1],
    )


def summary(
    known: Status, readiness: Readiness, verdicts: Iterable[Verdict], words: str, stalest_type: str | None
) -> Summary:
    """Return the texts of ``kubectl get``; ``words`` say what a rollout does."""
    lag = known.lag
    states = {verdict.aspect.value: verdict for verdict in verdicts}
    return Summary(
        members=readiness.short,
        lag=UNKNOWN if lag is None else number(lag.records),
        lag_age=UNKNOWN if lag is None else duration(lag.seconds),
        uploaded=None if known.uploads is None else _size(known.uploads.bytes),
        state=_state(states, words),
        stalest_type=stalest_type,
    )


def _state(states: Mapping[str, Verdict], words: str) -> str:
    if "ReconciliationPaused" in states:
        return Reason.RECONCILIATION_PAUSED
    for aspect in ("Paused", "Stalled", "Reconciling"):
        if states[aspect].holds:
            is_rollout = aspect == "Reconciling" or states[aspect].reason == Reason.ROLLOUT_FAILED
            return words if words and is_rollout else states[aspect].reason
    return states["Ready"].reason


def _member(pod: Pod, reported: Reported, previous: status_members.Member | None) -> status_members.Member:
    report = reported.by_name.get(pod.name)
    document = report.document if report is not None else None
    if document is not None:
        partitions, executors = document["assignment"]["count"], document["executors"]
    else:
        partitions, executors = (None, None) if previous is None else (previous.partitions, previous.executors)
    return status_members.Member(
        name=pod.name,
        ready=pod.is_ready,
        partitions=partitions,
        executors=executors,
        revision=pod.labels.get(REVISION_LABEL),
    )


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _size(value: int) -> str:
    """``1.2GiB``: one word, as the columns of kubectl want it."""
    return size(value).replace(" ", "")


def generations(own: OwnObjects, lag: LagAnswer, fleets: Mapping[str, Fleet]) -> tuple[GenerationState, ...]:
    """Return the newest generations that members write or partitions are in, the oldest of them first."""
    shares = {one.generation: one for one in lag.generations} if isinstance(lag, KnownLag) else {}
    writing: dict[int, list[Fleet]] = {number: [] for number in shares}
    for revision, config_map in own.config_maps().items():
        manifest = manifest_of(config_map)
        if manifest is not None:
            writing.setdefault(manifest.spec.generation, []).append(fleets.get(revision, fleet.NONE))
    newest = sorted(writing)[-MOST_GENERATIONS:]
    return tuple(_generation(number, writing[number], shares.get(number)) for number in newest)


def _generation(number: int, fleets: list[Fleet], share: GenerationShare | None) -> GenerationState:
    began = {} if share is None else share.began
    return GenerationState(
        generation=number,
        members=sum(one.wanted for one in fleets),
        ready=sum(one.ready for one in fleets),
        partitions=0 if share is None else share.partitions,
        began=tuple(
            Beginning(topic=partition.topic, partition=partition.partition, offset=offset)
            for partition, offset in sorted(began.items())[:MOST_BEGINNINGS]
        ),
    )
