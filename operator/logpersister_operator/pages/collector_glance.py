"""What the operator knows of one collector, and what its replicas have counted. Pure, but for the tally's memory."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from logpersister.pages.reported import Report
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import MemberReport, ResourceKey
from logpersister_operator.pages.signs import Sign, Standing, Trouble, standing

_SIGNS: Final = (
    Sign(Aspect.STALLED, "True", Trouble.BAD, "stalled", "none"),
    Sign(Aspect.RECONCILED, "False", Trouble.BAD, "not reconciled", "none"),
    Sign(Aspect.KAFKA_REACHABLE, "False", Trouble.BAD, "Kafka is away", "none"),
    Sign(Aspect.FEEDS_SPEAKING, "False", Trouble.BAD, "feeds are silent", "none"),
    Sign(Aspect.READY, "False", Trouble.WARNING, "not ready", "none"),
)
"""Conditions that ask for a look, the most urgent first."""
Counts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CollectorGlance:
    """What the operator knows of one collector."""

    key: ResourceKey
    status: CollectorStatus
    """The status as it was written last, with feeds and spool as replicas say now."""
    said: Mapping[str, MemberReport] = field(default_factory=dict)
    """What replicas said last, by the names of their pods."""
    pods: Sequence[Pod] = ()

    @property
    def standing(self) -> Standing:
        summary = self.status.summary
        return standing(_SIGNS, self.status.conditions, None if summary is None else summary.state)

    @property
    def reports(self) -> Sequence[Report]:
        """What replicas said, as pages show it."""
        return [Report(name, one.document or {}, one.error) for name, one in sorted(self.said.items())]

    @property
    def answers(self) -> Sequence[Report]:
        """Those of the replicas that answer."""
        return [one for one in self.reports if one.document]

    def total(self, *names: str) -> int | None:
        """Return the sum of a number over replicas; None: none of them says it."""
        told = [count for one in self.answers if (count := one.count(*names)) is not None]
        return sum(told) if told else None


class PollTally:
    """What the replicas of all collectors have counted since they were seen first.

    A replica that does not answer for a while, or starts anew, makes no step down: only what it adds is counted.
    """

    def __init__(self) -> None:
        self._sums: dict[ResourceKey, Counter[str]] = {}
        self._last: dict[ResourceKey, dict[str, tuple[object, Counter[str]]]] = {}
        """The start of each replica that has answered, and what it had counted by then."""

    def take(self, glances: Mapping[ResourceKey, CollectorGlance]) -> Mapping[ResourceKey, Counts]:
        """Return the sums; those of a collector whose replicas are all silent are not known now."""
        self._sums = {key: self._sums.get(key) or Counter() for key in glances}
        self._last = {key: self._last.get(key) or {} for key in glances}
        for key, glance in glances.items():
            for one in glance.answers:
                self._hear(key, one)
        return {key: dict(self._sums[key]) if glance.answers else {} for key, glance in glances.items()}

    def _hear(self, key: ResourceKey, report: Report) -> None:
        started, counts = report.get("startedAt"), _counts(report)
        known, before = self._last[key].get(report.address, (started, counts))
        if known != started:
            before = Counter()
        self._last[key][report.address] = started, counts
        self._sums[key].update({name: max(0, count - before[name]) for name, count in counts.items()})


def _counts(report: Report) -> Counter[str]:
    polls = dict(report.counts("polls"))
    missed, ended = polls.pop("missed", 0), sum(polls.values())
    return Counter(
        {
            "polls": ended,
            "failed": ended - polls.get("new", 0) - polls.get("unchanged", 0),
            "missed": missed,
            "sent": report.count("records", "sent") or 0,
            "dropped": report.count("spool", "dropped") or 0,
        }
    )
