"""Records that the parser refused: from the reports of members to the status of the resource.

Members of releases without a quarantine report nothing about it, and quarantine nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from logpersister.ranges import TopicPartition
from logpersister.report.human import instant, plural
from logpersister_operator.crd import status_records as crd
from logpersister_operator.decide.conditions import Aspect, Verdict, no, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Report, Reported
from logpersister_operator.field_types import shortened
from logpersister_operator.observed_state import Stored
from logpersister_operator.render.application import Application

RECENT: Final = timedelta(hours=1)
"""How long records in quarantine are present: producers that send them seldom do so once."""


def records(report: Report) -> int:
    """Return how many records a member has put into quarantine since it started."""
    return int(_section(report).get("records") or 0)


def example(reports: Iterable[Report]) -> str:
    """Return in words where the newest records in quarantine are from, and why; empty when there are none."""
    newest = _newest([_range(one) for report in reports for one in _section(report).get("recent", [])])
    return in_words(newest[0]) if newest else ""


def in_words(one: crd.QuarantinedRange) -> str:
    """``clicks-3@120: not JSON``."""
    return f"{TopicPartition(one.topic, one.partition)}@{one.offset}: {one.reason}"


def refuse_alike(one: Application, other: Application) -> bool:
    """Whether two revisions refuse the same records: one image reads the same values and keys of the same topics."""
    return (one.image, *_read(one)) == (other.image, *_read(other))


def state(reported: Reported, stored: Stored | None) -> crd.Quarantine | None:
    """Return what members have put into quarantine, those that have ended included; None when that is nothing."""
    before = reported.before.quarantine
    if stored is None:
        return before
    if stored.quarantined == 0:
        return None
    sections = [_section(report) for report in reported.documents]
    times = [datetime.fromisoformat(one["last"]) for one in sections if one.get("last") is not None]
    ranges = [_range(one) for section in sections for one in section.get("recent", [])]
    if before is not None:
        times += [] if before.last is None else [before.last]
        ranges += before.latest
    return crd.Quarantine(
        records=stored.quarantined, last=max(times, default=None), latest=tuple(_newest(ranges)[: crd.MOST_QUARANTINED])
    )


def records_parsing(reported: Reported, known: crd.Quarantine | None) -> Verdict:
    """Judge by when records went into quarantine last, also those of members that have ended since."""
    aspect = Aspect.RECORDS_PARSING
    if known is not None and known.last is not None and reported.now - known.last < RECENT:
        newest = f"; for example {in_words(known.latest[0])} (stored as {known.latest[0].key})" if known.latest else ""
        count = f"{plural(known.records, 'record')} in quarantine, the last at {instant(known.last)}"
        return no(aspect, Reason.RECORDS_QUARANTINED, f"{count}{newest}")
    fine = yes(aspect, Reason.RECORDS_PARSE, "no record went into quarantine in the last hour")
    return reported.unanswered(aspect, "nothing is parsed", "no member reports its parsing") or fine


def _read(application: Application) -> tuple[object, ...]:
    spec = application.resource.spec
    shapes = tuple((one.value, one.key, one.types) for one in spec.variants())
    return shapes, spec.kafka.topics, spec.kafka.topic_pattern, spec.kafka.exclude_topic_pattern


def _section(report: Report) -> Mapping[str, Any]:
    return report.get("quarantine") or {}


def _range(one: Mapping[str, Any]) -> crd.QuarantinedRange:
    return crd.QuarantinedRange(
        topic=one["topic"],
        partition=one["partition"],
        offset=one["offset"],
        records=one["records"],
        reason=shortened(one["reason"]),
        key=one["key"],
        time=datetime.fromisoformat(one["time"]),
    )


def _newest(ranges: Sequence[crd.QuarantinedRange]) -> list[crd.QuarantinedRange]:
    """Return each object's range once, the newest first: one that was stored again is the same."""
    found: dict[str, crd.QuarantinedRange] = {}
    for one in sorted(ranges, key=lambda one: one.time, reverse=True):
        found.setdefault(one.key, one)
    return list(found.values())
