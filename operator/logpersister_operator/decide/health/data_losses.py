"""Records that Kafka had deleted before they were stored. The status keeps what members that have ended reported.

A gap is identified by its first offset. The gap of a held partition is reported again by the next owner, and it may
have grown meanwhile. A gap that was skipped is reported only by the process that skipped it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from logpersister.ranges import TopicPartition
from logpersister.report.human import instant, number, plural
from logpersister_operator.crd import status_records as crd
from logpersister_operator.decide.conditions import Aspect, Verdict, no, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.decide.reported import Reported
from logpersister_operator.observed_state import Resource

ACKNOWLEDGED: Final = "logpersister.dev/losses-acknowledged"
"""Annotation: a time. What was found until then makes no condition false any more."""
_Key = tuple[str, int, int]


def state(reported: Reported) -> crd.DataLoss | None:
    """Return all records that are known to be lost; None when no loss is known.

    The status lists a limited number of gaps. A gap that finds no place is not counted, since its next report would
    count it again.
    """
    before = reported.before.data_loss
    latest = {_key(one): one for one in (() if before is None else before.latest)}
    records, ranges = (0, 0) if before is None else (before.records, before.ranges)
    for report in reported.documents:
        for entry in report["dataLoss"]["recent"]:
            found = _loss(entry, reported.now)
            known = latest.get(_key(found))
            if known is not None:
                records += max(0, found.end - known.end)
                latest[_key(found)] = found.model_copy(
                    update={"end": max(found.end, known.end), "time": known.time or found.time}
                )
            elif len(latest) < crd.MOST_LOSSES:
                records, ranges = records + found.end - found.start, ranges + 1
                latest[_key(found)] = found
    if not latest:
        return before
    newest = sorted(latest.values(), key=lambda one: (one.time or reported.now, _key(one)), reverse=True)
    return crd.DataLoss(records=records, ranges=ranges, latest=tuple(newest))


def data_complete(resource: Resource, known: crd.DataLoss | None, now: datetime) -> Verdict:
    """Judge by everything that was ever found, unless somebody has acknowledged it."""
    aspect, seen = Aspect.DATA_COMPLETE, _acknowledged(resource)
    if known is None:
        return yes(aspect, Reason.NOTHING_LOST, "no loss is known")
    least = "at least " if len(known.latest) >= crd.MOST_LOSSES else ""
    count = f"{number(known.records)} records in {plural(known.ranges, 'range')}"
    message = f"{least}{count} were deleted before they were stored"
    news = [one for one in known.latest if seen is None or one.time is None or one.time > seen]
    if seen is not None and not news:
        return yes(aspect, Reason.NOTHING_LOST, f"{message}; acknowledged at {instant(seen)}")
    newest = news[0] if news else known.latest[0]
    partition = TopicPartition(newest.topic, newest.partition)
    last = max((one.time for one in known.latest if one.time is not None), default=now)
    return no(
        aspect,
        Reason.RECORDS_LOST,
        f"{message}; for example {partition}@{newest.start} to {newest.end}. To acknowledge: "
        f"kubectl annotate --overwrite lp {resource.key.name} {ACKNOWLEDGED}={instant(last)}",
    )


def _acknowledged(resource: Resource) -> datetime | None:
    try:
        found = datetime.fromisoformat(resource.annotations.get(ACKNOWLEDGED, ""))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _loss(entry: Mapping[str, Any], now: datetime) -> crd.Loss:
    return crd.Loss(
        topic=entry["topic"],
        partition=entry["partition"],
        start=entry["start"],
        end=entry["end"],
        held=not entry["skipped"],
        time=now.replace(microsecond=0),
    )


def _key(loss: crd.Loss) -> _Key:
    return loss.topic, loss.partition, loss.start
