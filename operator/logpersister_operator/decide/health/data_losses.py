"""Records that Kafka had deleted before they were stored: what members tell of them outlives the members.

A gap is known by where it begins. A partition that is held is told again by whoever has it next, and its gap may have
grown meanwhile; one that was skipped is told only by the process that did so.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from logpersister.ranges import TopicPartition
from logpersister.report.human import instant, number, plural
from logpersister_operator.crd import status as crd
from logpersister_operator.decide.conditions import Aspect, Verdict, no, yes
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_state import ObservedState, documents

ACKNOWLEDGED: Final = "logpersister.dev/losses-acknowledged"
"""Annotation: a time. What was found until then makes no condition false any more."""
_Key = tuple[str, int, int]


def state(observed: ObservedState) -> crd.DataLoss | None:
    """Return all that is known to be lost; None when that is nothing.

    There is room for a number of gaps. What comes when it is used up is not counted: that would count again what has
    had to go.
    """
    before = observed.previous_status("dataLoss", crd.DataLoss)
    latest = {_key(one): one for one in (() if before is None else before.latest)}
    records, ranges = (0, 0) if before is None else (before.records, before.ranges)
    for report in documents(observed.reports):
        for told in report["dataLoss"]["recent"]:
            found = _loss(told, observed.now)
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
    newest = sorted(latest.values(), key=lambda one: (one.time or observed.now, _key(one)), reverse=True)
    return crd.DataLoss(records=records, ranges=ranges, latest=tuple(newest))


def data_complete(observed: ObservedState, known: crd.DataLoss | None) -> Verdict:
    """Judge by everything that was ever found, unless somebody has acknowledged it."""
    aspect, seen = Aspect.DATA_COMPLETE, _acknowledged(observed)
    if known is None:
        return yes(aspect, Reason.NOTHING_LOST, "no record is known to have been deleted before it was stored")
    least = "at least " if len(known.latest) >= crd.MOST_LOSSES else ""
    count = f"{number(known.records)} records in {plural(known.ranges, 'range')}"
    told = f"{least}{count} were deleted before they were stored"
    news = [one for one in known.latest if seen is None or one.time is None or one.time > seen]
    if seen is not None and not news:
        return yes(aspect, Reason.NOTHING_LOST, f"{told}; acknowledged at {instant(seen)}")
    newest = news[0] if news else known.latest[0]
    partition = TopicPartition(newest.topic, newest.partition)
    last = max((one.time for one in known.latest if one.time is not None), default=observed.now)
    return no(
        aspect,
        Reason.RECORDS_LOST,
        f"{told}; for example {partition}@{newest.start} to {newest.end}. Once that is dealt with: "
        f"kubectl annotate --overwrite lp {observed.key.name} {ACKNOWLEDGED}={instant(last)}",
    )


def _acknowledged(observed: ObservedState) -> datetime | None:
    try:
        found = datetime.fromisoformat(observed.annotation(ACKNOWLEDGED))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _loss(told: Mapping[str, Any], now: datetime) -> crd.Loss:
    return crd.Loss(
        topic=told["topic"],
        partition=told["partition"],
        start=told["start"],
        end=told["end"],
        held=not told["skipped"],
        time=now.replace(microsecond=0),
    )


def _key(loss: crd.Loss) -> _Key:
    return loss.topic, loss.partition, loss.start
