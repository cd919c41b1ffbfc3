"""What the members of each revision have done, from their own reports."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from logpersister.manifest.spec import Spec
from logpersister_operator.decide.health import quarantined_records
from logpersister_operator.decide.lag_targets import target_lag_seconds
from logpersister_operator.decide.reported import Report
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import KnownLag, LagAnswer, MemberReport
from logpersister_operator.rollout.evidence import Evidence, GroupLag, ReportedCounters


def evidence(
    pods_by_revision: Mapping[str, Iterable[Pod]], reports: Mapping[str, MemberReport], spec: Spec
) -> dict[str, Evidence]:
    """Return the evidence of each revision; ``spec`` has the time that a record may wait."""
    return {revision: evidence_of(reports_of(pods, reports), spec) for revision, pods in pods_by_revision.items()}


def reports_of(pods: Iterable[Pod], reports: Mapping[str, MemberReport]) -> dict[str, Report]:
    """Return the reports of the members in some pods, by name, without members that do not answer."""
    found = {pod.name: reports[pod.name].document for pod in pods if pod.name in reports}
    return {name: document for name, document in found.items() if document is not None}


def group_lag(lag: LagAnswer) -> GroupLag | None:
    """Return the lag of the whole group; None while it is not known."""
    if not isinstance(lag, KnownLag) or lag.unreadable:  # what is missing now may be there at the next look
        return None
    return GroupLag(lag.summary.records, over_target=bool(lag.over_target or lag.stuck))


def evidence_of(by_name: Mapping[str, Report], spec: Spec) -> Evidence:
    """Return the evidence from the reports of some members, by name."""
    reports = list(by_name.values())
    failures = [error["time"] for one in reports for error in one["errors"]["recent"] if error["upload"]]
    return Evidence(
        answers=len(reports),
        partitions=sum(one["assignment"]["count"] for one in reports),
        ranges=sum(one["uploads"]["ranges"] for one in reports),
        stored=tuple(_stored(name, one) for name, one in sorted(by_name.items())),
        example=quarantined_records.example(reports),
        upload_failures=sum(one["uploads"]["failures"] for one in reports),
        last_upload_failure=max((datetime.fromisoformat(time) for time in failures), default=None),
        behind=_behind(reports),
        overdue=any(_is_overdue(one, spec) for one in reports),
    )


def _stored(name: str, report: Report) -> ReportedCounters:
    started, records = datetime.fromisoformat(report["startedAt"]), report["uploads"].get("records") or 0
    return ReportedCounters(name, started, records, quarantined_records.records(report))


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
