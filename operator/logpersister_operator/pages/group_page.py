"""The page of one group: how it did in the last hours, its rollout, and what is wrong. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, TypeVar

from logpersister.pages.views import Cell, Table, alarm, when
from logpersister.report.human import duration, number, size
from logpersister_operator.crd.status import Status
from logpersister_operator.decide.reported import Report
from logpersister_operator.observed_state import MemberReport
from logpersister_operator.pages.glance import Glance
from logpersister_operator.pages.rollout_log import Step
from logpersister_operator.pages.signs import conditions_table
from logpersister_operator.rollout.transitions import ONGOING, Phase

OBJECTS: Final = 20
FAILURES: Final = 20
Read = TypeVar("Read")
Row = tuple[str | Cell, ...]
_Dated = tuple[datetime, Row]
_STRANGE: Final = (KeyError, TypeError, ValueError)


def facts(glance: Glance) -> Sequence[tuple[str, str | Cell]]:
    """Return what is known of a group."""
    status, lag, target = glance.status, glance.known_lag, glance.target_seconds
    uploads, members, quarantine = status.uploads, status.members, status.quarantine
    namespace, rollout = glance.key.namespace, status.rollout
    waits = duration(None if lag is None else lag.seconds)
    is_late = lag is not None and target is not None and lag.seconds is not None and lag.seconds > target
    return (
        ("Namespace", Cell(namespace, link=f"../../?namespace={namespace}")),
        ("Consumer group", status.group_id or "?"),
        ("Generation, revision", f"{number(status.generation)}, {status.revision or '?'}"),
        ("Members ready", "?" if members is None else f"{members.ready} of {members.desired}"),
        ("Lag in records", number(None if lag is None else lag.records)),
        ("Oldest record waits", Cell(waits, "warning") if is_late else waits),
        ("Target", duration(target)),
        ("Partitions behind", "?" if lag is None else f"{number(lag.behind)} of {number(lag.partitions)}"),
        ("Uploaded", _uploaded(status)),
        ("Last upload", when(None if uploads is None else uploads.last)),
        ("Upload failures in the last hour", alarm(0 if uploads is None else uploads.failures_last_hour)),
        ("Records in quarantine", alarm(0 if quarantine is None else quarantine.records)),
        ("Rollout", "?" if rollout is None else _phase(rollout.phase, rollout.step)),
        ("In this phase since", "?" if rollout is None else when(rollout.since)),
    )


def tables(glance: Glance, steps: Sequence[Step]) -> Iterator[Table]:
    """Yield what else is known of a group; ``steps`` are those of its rollouts, the newest first."""
    status, documents = glance.status, glance.documents
    yield conditions_table(status.conditions)
    yield from _rollouts(status, steps)
    yield Table(
        "Members",
        ("member", "ready", "partitions", "revision", "state"),
        _members(status, glance.reports),
        numbers=("partitions",),
    )
    objects = _objects(documents)
    yield Table(
        "Newest objects", ("key", "time", "size", "records"), objects, "", ("size", "records"), "No upload yet."
    )
    failures = _newest(_each(documents, "errors", "recent", _failure))[:FAILURES]
    yield Table("Failures", ("time", "range", "kind", "message"), failures, "Each was tried again.")
    yield Table(
        "Quarantine by reason",
        ("reason", "records", "last", "newest object"),
        _quarantine(glance),
        numbers=("records",),
    )
    yield Table("Held partitions", ("partition", "reason", "what it waits for"), _held(documents))
    yield Table(
        "Partitions that are most behind",
        ("partition", "lag", "oldest waits", "moves"),
        _worst(glance),
        numbers=("lag", "oldest waits"),
    )
    if status.data_loss is not None:
        rows = [
            (f"{one.topic}-{one.partition}", f"{one.start} to {one.end}", "no" if one.held else "yes", when(one.time))
            for one in status.data_loss.latest
        ]
        yield Table("Offsets that Kafka deleted", ("partition", "offsets", "skipped", "found"), rows)
    if status.restarts:
        restarts = [(when(one.time), one.member, one.cause) for one in reversed(status.restarts)]
        yield Table("Restarts of members", ("time", "member", "cause"), restarts)


def _uploaded(status: Status) -> str:
    uploads = status.uploads
    if uploads is None:
        return "?"
    return f"{number(uploads.objects)} objects, {size(uploads.bytes)}, {number(uploads.records)} records"


def _phase(phase: Phase, step: int) -> str:
    return f"{phase}, step {step}" if phase in ONGOING and step else str(phase)


def _rollouts(status: Status, steps: Sequence[Step]) -> Iterator[Table]:
    rows = [
        (when(one.since), _phase(one.phase, one.number), one.stable or "none", one.candidate or "none") for one in steps
    ]
    note = "The newest steps since the operator started."
    yield Table("Rollouts", ("since", "step", "stable revision", "new revision"), rows, note)
    if status.rollout is not None and status.rollout.failures:
        failures = [(one.revision, number(one.attempt), when(one.time), one.cause) for one in status.rollout.failures]
        yield Table("Revisions that failed", ("revision", "attempt", "time", "cause"), failures)


def _members(status: Status, reports: Mapping[str, MemberReport]) -> list[Row]:
    if status.members is None:
        return []
    return [
        (
            one.name,
            "yes" if one.ready else Cell("no", "warning"),
            number(one.partitions),
            one.revision or "?",
            _said(reports.get(one.name)),
        )
        for one in status.members.list
    ]


def _said(report: MemberReport | None) -> str | Cell:
    if report is None:
        return "not asked yet"
    if report.document is None:
        return Cell(report.error, "warning")
    message = report.document.get("stateMessage")
    state = str(report.document.get("state", "?"))
    return f"{state}: {message}" if message else state


def _objects(documents: Iterable[Report]) -> list[Row]:
    return _newest(_each(documents, "uploads", "recent", _object))[:OBJECTS]


def _object(one: Report) -> _Dated:
    time = datetime.fromisoformat(one["time"])
    return time, (str(one["key"]), when(time), size(one["bytes"]), number(one["records"]))


def _failure(one: Report) -> _Dated:
    time = datetime.fromisoformat(one["time"])
    where = "" if one["topic"] is None else f"{one['topic']}-{one['partition']}[{one['start']},{one['end']})"
    return time, (when(time), where, str(one["kind"]), str(one["message"]))


def _quarantine(glance: Glance) -> list[Row]:
    """Return the reasons that members remember, and those of the status where none does."""
    found = _each(glance.documents, "quarantine", "recent", _refused)
    if not found and glance.status.quarantine is not None:
        found = [(one.reason, one.records, one.time, one.key) for one in glance.status.quarantine.latest]
    records: Counter[str] = Counter()
    newest: dict[str, tuple[datetime, str]] = {}
    for reason, count, time, key in found:
        records[reason] += count
        newest[reason] = max(newest.get(reason, (time, key)), (time, key))
    return [(one, number(count), when(newest[one][0]), newest[one][1]) for one, count in records.most_common()]


def _refused(one: Report) -> tuple[str, int, datetime, str]:
    return str(one["reason"]), int(one["records"]), datetime.fromisoformat(one["time"]), str(one["key"])


def _held(documents: Iterable[Report]) -> list[Row]:
    return _each(documents, "heldPartitions", "first", _held_partition)


def _held_partition(one: Report) -> Row:
    return f"{one['topic']}-{one['partition']}", str(one["reason"]), str(one["message"])


def _worst(glance: Glance) -> list[Row]:
    lag = glance.known_lag
    if lag is None:
        return []
    return [
        (
            f"{one.topic}-{one.partition}",
            number(one.records),
            duration(one.seconds),
            Cell("no", "warning") if one.stuck else "yes",
        )
        for one in lag.worst
    ]


def _newest(rows: Iterable[_Dated]) -> list[Row]:
    return [row for _, row in sorted(rows, key=lambda one: one[0], reverse=True)]


def _each(documents: Iterable[Report], section: str, name: str, read: Callable[[Report], Read]) -> list[Read]:
    """Return what members say in one place, without what another version, or another program, says otherwise."""
    found = []
    for document in documents:
        with suppress(*_STRANGE):
            for one in document[section][name]:
                with suppress(*_STRANGE):
                    found.append(read(one))
    return found
