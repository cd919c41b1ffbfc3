"""What members of each revision have done, from their own reports."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from logpersister.manifest.resource import Spec
from logpersister_operator.decide.fleets import pods_by_revision
from logpersister_operator.decide.target import target_lag_seconds
from logpersister_operator.observed import KnownLag, Observed, documents
from logpersister_operator.rollout.evidence import Evidence, GroupLag

Report = Mapping[str, Any]


def evidence(observed: Observed, spec: Spec) -> dict[str, Evidence]:
    """Return what the members of each revision say; ``spec`` tells how long a record may wait."""
    reports = observed.reports or {}
    return {
        revision: evidence_of(
            documents({name: reports[name] for pod in pods if (name := pod["metadata"]["name"]) in reports}), spec
        )
        for revision, pods in pods_by_revision(observed).items()
    }


def group_lag(observed: Observed) -> GroupLag | None:
    """Return the lag of the group; None while it is not known."""
    lag = observed.lag
    if not isinstance(lag, KnownLag):
        return None
    return GroupLag(lag.summary.records, over_target=bool(lag.over_target or lag.stuck))


def evidence_of(reports: Sequence[Report], spec: Spec) -> Evidence:
    """Return what some members say."""
    failures = [error["time"] for one in reports for error in one["errors"]["recent"] if error["upload"]]
    return Evidence(
        answers=len(reports),
        partitions=sum(one["assignment"]["count"] for one in reports),
        ranges=sum(one["uploads"]["ranges"] for one in reports),
        upload_failures=sum(one["uploads"]["failures"] for one in reports),
        last_upload_failure=max((datetime.fromisoformat(time) for time in failures), default=None),
        behind=_behind(reports),
        overdue=any(_is_overdue(one, spec) for one in reports),
    )


def _behind(reports: Sequence[Report]) -> int | None:
    lags = [one["lag"] for one in reports]
    if any(not (lag["known"] and lag["complete"]) for lag in lags):
        return None
    return sum(int(lag["records"]) for lag in lags)


def _is_overdue(report: Report, spec: Spec) -> bool:
    return any(
        one["seconds"] is not None and one["seconds"] > target_lag_seconds(spec, one["topic"])
        for one in report["lag"].get("worst", [])
    )
