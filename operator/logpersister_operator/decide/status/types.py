"""Records by type (``spec.types``): from the reports of members to the status of the resource.

A member knows what it has stored itself. So the newest record of a type is that of the member that has the newest, and
what members that ended have told stays as it was written, for as long as the manifest declares the type.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from logpersister.manifest.spec import Spec
from logpersister.report.human import duration
from logpersister.report.labels import OTHER
from logpersister.report.types import TypeOfTopic
from logpersister_operator.crd import status_records as crd
from logpersister_operator.decide.reported import Report, Reported


def types(reported: Reported, spec: Spec | None) -> crd.Types | None:
    """Return the totals and the worst types; None without ``spec.types``, or as long as nothing is known."""
    if spec is None or spec.types is None:
        return None
    before = reported.before.types
    sections = [section for one in reported.documents if (section := one.get("types")) is not None]
    if not sections:
        return before
    newest = _newest(sections, () if before is None else before.stalest)
    newest = {of: time for of, time in newest.items() if _is_declared(of, spec)}
    refused: Counter[TypeOfTopic] = Counter()
    for section in sections:
        refused.update(
            {TypeOfTopic(one["topic"], one["type"]): one["quarantined"] for one in section["mostQuarantined"]}
        )
    return crd.Types(
        count=max(len(newest), *(section["count"] for section in sections)),
        records=_sum(sections, "records"),
        bytes=_sum(sections, "bytes"),
        quarantined=_sum(sections, "quarantined"),
        dropped=_sum(sections, "dropped"),
        stalest=tuple(
            crd.TypeState(topic=of.topic, type=of.type, newest=time)
            for of, time in sorted(newest.items(), key=lambda one: (one[1], one[0]))[: crd.MOST_TYPES]
        ),
        most_quarantined=tuple(
            crd.TypeState(topic=of.topic, type=of.type, newest=newest.get(of), quarantined=count)
            for of, count in sorted(refused.items(), key=lambda one: (-one[1], one[0]))[: crd.MOST_TYPES]
        ),
    )


def stalest_type(known: crd.Types | None, now: datetime) -> str | None:
    """Return the text of ``kubectl get``: ``refund 3h``."""
    if known is None or not known.stalest or known.stalest[0].newest is None:
        return None
    first = known.stalest[0]
    seconds = max(0.0, (now - known.stalest[0].newest).total_seconds())
    return f"{first.type} {duration(seconds)}"


def _is_declared(of: TypeOfTopic, spec: Spec) -> bool:
    """Whether the manifest stores it still; what members tell together is of any topic."""
    return (
        spec.types is not None and of.type in spec.types.labels and (of.topic == OTHER or spec.kafka.selects(of.topic))
    )


def _newest(sections: Iterable[Report], before: Iterable[crd.TypeState]) -> dict[TypeOfTopic, datetime]:
    found = {TypeOfTopic(one.topic, one.type): one.newest for one in before if one.newest is not None}
    for section in sections:
        for topic, of_topic in section["newest"].items():
            for type_, time in of_topic.items():
                of, newer = TypeOfTopic(topic, type_), datetime.fromisoformat(time)
                found[of] = max(newer, found.get(of, newer))
    return found


def _sum(sections: Iterable[Report], name: str) -> int:
    return sum(int(section[name]) for section in sections)
