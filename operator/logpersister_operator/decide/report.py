"""The status of a resource, from what is observed. Its size is bounded, whatever the number of partitions."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from logpersister.report.human import duration, number, size
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.crd import status as crd
from logpersister_operator.decide.conditions import Verdict, shortened
from logpersister_operator.decide.diagnosis import is_ready
from logpersister_operator.decide.verdicts import newest_failure
from logpersister_operator.observed import KnownLag, MemberReport, UnknownLag
from logpersister_operator.render.application import REVISION_LABEL

UNKNOWN = "Unknown"


def lag(found: KnownLag | UnknownLag) -> crd.Lag | None:
    """Return the lag of the group; None while it is not known: it is never shown as 0."""
    if isinstance(found, UnknownLag):
        return None
    summary = found.summary
    stuck = {one.partition for one in found.stuck}
    return crd.Lag(
        records=summary.records,
        seconds=_whole(summary.seconds),
        partitions=summary.partitions,
        behind=summary.behind,
        worst=tuple(
            crd.PartitionLag(
                topic=one.partition.topic,
                partition=one.partition.partition,
                records=one.records,
                seconds=_whole(one.age_seconds),
                stuck=True if one.partition in stuck else None,
            )
            for one in summary.worst[: crd.MOST_WORST]
        ),
    )


def uploads(reports: Mapping[str, MemberReport]) -> crd.Uploads | None:
    """Return what members have stored since they started; None when none of them answers."""
    documents = _documents(reports)
    if not documents:
        return None
    totals = [document["uploads"] for document in documents]
    newest = newest_failure(reports)
    return crd.Uploads(
        objects=sum(one["objects"] for one in totals),
        bytes=sum(one["bytes"] for one in totals),
        records=sum(one["records"] for one in totals),
        last=_newest(one["last"] for one in totals),
        failures=sum(one["failures"] for one in totals),
        failures_last_hour=sum(one["failuresLastHour"] for one in totals),
        last_failure=None if newest is None else _failure(newest),
    )


def members(pods: Sequence[Document], reports: Mapping[str, MemberReport], wanted: int, ready: int) -> crd.Members:
    """Return the members; of many, first those that are not ready."""
    listed = sorted(pods, key=lambda pod: (is_ready(pod), pod["metadata"]["name"]))[: crd.MOST_MEMBERS]
    listed.sort(key=lambda pod: str(pod["metadata"]["name"]))
    return crd.Members(desired=wanted, ready=ready, list=tuple(_member(pod, reports) for pod in listed))


def rebalance(reports: Mapping[str, MemberReport], wanted: int) -> crd.Rebalance | None:
    """Return how partitions move, as members see it; None when none of them answers."""
    documents = _documents(reports)
    if not documents:
        return None
    states = [document["state"] for document in documents]
    settled = len(documents) >= wanted and all(state == "running" for state in states)
    seen = [document["rebalance"] for document in documents]
    return crd.Rebalance(
        state="Stable" if settled else "Rebalancing",
        group_generation=max(
            (one["groupGeneration"] for one in seen if one["groupGeneration"] is not None), default=None
        ),
        count=max(one["count"] for one in seen),
        last=_newest(one["last"] for one in seen),
    )


def data_loss(reports: Mapping[str, MemberReport]) -> crd.DataLoss | None:
    """Return the losses that members remember; None when there are none."""
    documents = _documents(reports)
    losses = [loss for document in documents for loss in document["dataLoss"]["recent"]]
    if not losses:
        return None
    latest = tuple(
        crd.Loss(
            topic=loss["topic"],
            partition=loss["partition"],
            start=loss["start"],
            end=loss["end"],
            held=not loss["skipped"],
        )
        for loss in losses[: crd.MOST_LOSSES]
    )
    return crd.DataLoss(
        records=sum(document["dataLoss"]["offsets"] for document in documents), ranges=len(losses), latest=latest
    )


def summary(
    ready: int, wanted: int, found: KnownLag | UnknownLag, stored: crd.Uploads | None, verdicts: Iterable[Verdict]
) -> crd.Summary:
    """Return the texts of ``kubectl get``."""
    known = None if isinstance(found, UnknownLag) else found.summary
    states = {verdict.aspect.value: verdict for verdict in verdicts}
    return crd.Summary(
        members=f"{ready}/{wanted}",
        lag=UNKNOWN if known is None else number(known.records),
        lag_age=UNKNOWN if known is None else duration(_whole(known.seconds)),
        uploaded=None if stored is None else _size(stored.bytes),
        state=_state(states),
    )


def _state(states: Mapping[str, Verdict]) -> str:
    for aspect in ("Paused", "Stalled", "Reconciling"):
        if states[aspect].holds:
            return states[aspect].reason
    return states["Ready"].reason


def _documents(reports: Mapping[str, MemberReport]) -> list[Mapping[str, Any]]:
    return [report.document for report in reports.values() if report.document is not None]


def _member(pod: Document, reports: Mapping[str, MemberReport]) -> crd.Member:
    name = pod["metadata"]["name"]
    report = reports.get(name)
    document = report.document if report is not None else None
    return crd.Member(
        name=name,
        ready=is_ready(pod),
        partitions=None if document is None else document["assignment"]["count"],
        executors=None if document is None else document["executors"],
        revision=pod["metadata"]["labels"].get(REVISION_LABEL),
    )


def _failure(error: Mapping[str, Any]) -> crd.UploadFailure:
    return crd.UploadFailure(
        reason=error["kind"],
        message=shortened(error["message"]),
        topic=error["topic"],
        partition=error["partition"],
        start=error["start"],
        end=error["end"],
        time=datetime.fromisoformat(error["time"]),
    )


def _newest(times: Iterable[str | None]) -> datetime | None:
    return max((datetime.fromisoformat(time) for time in times if time is not None), default=None)


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _size(value: int) -> str:
    """``1.2GiB``: one word, as the columns of kubectl want it."""
    return size(value).replace(" ", "")
