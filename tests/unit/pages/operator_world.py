"""Groups as an operator knows them, and its pages, with a clock that tests move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from logpersister.feeds.polled_feed import PolledFeed
from logpersister.feeds.reports import FeedMetrics, Parts, status_document
from logpersister.feeds.sender import SentCounts
from logpersister.feeds.spool import Fill, Spool
from logpersister.pages.history import History
from logpersister.pages.site import Site
from logpersister.ranges import TopicPartition
from logpersister.report.lag import PartitionLag, summarise
from logpersister_operator.crd.replay_status import ReplayStatus
from logpersister_operator.crd.status import Condition, Status
from logpersister_operator.crd.status_collector import CollectorStatus
from logpersister_operator.decide.conditions import Aspect
from logpersister_operator.decide.reasons import Reason
from logpersister_operator.observed_objects import Pod
from logpersister_operator.observed_state import KnownLag, MemberReport, ResourceKey
from logpersister_operator.pages.collector_glance import CollectorGlance
from logpersister_operator.pages.glance import Glance
from logpersister_operator.pages.operator_source import POINTS, SUBJECTS, OperatorSource
from tests.unit.pages.html import Element, read
from tests.unit.report.samples import NOON, Clock

REVISION = "0a1b2c3d4e5f"
Fine = Mapping[Aspect, tuple[str, str]]
FINE: Fine = {
    Aspect.READY: ("True", Reason.MEMBERS_READY),
    Aspect.RECONCILING: ("False", Reason.UP_TO_DATE),
    Aspect.STALLED: ("False", Reason.PROGRESSING),
    Aspect.RECONCILED: ("True", Reason.COMPLETE),
    Aspect.SPEC_VALID: ("True", Reason.VALID),
    Aspect.UPLOADS_SUCCEEDING: ("True", Reason.SUCCEEDING),
    Aspect.RECORDS_PARSING: ("True", Reason.RECORDS_PARSE),
    Aspect.DATA_COMPLETE: ("True", Reason.NOTHING_LOST),
    Aspect.LAG_WITHIN_TARGET: ("True", Reason.WITHIN_TARGET),
    Aspect.GROUP_STABLE: ("True", Reason.FEW_REBALANCES),
    Aspect.MEMBERS_PROGRESSING: ("True", Reason.MEMBERS_PROGRESS),
}
FINE_COLLECTOR: Fine = {
    **{aspect: FINE[aspect] for aspect in (Aspect.RECONCILING, Aspect.STALLED, Aspect.RECONCILED, Aspect.SPEC_VALID)},
    Aspect.READY: ("True", Reason.REPLICAS_READY),
    Aspect.FEEDS_SPEAKING: ("True", Reason.FEEDS_SPEAK),
    Aspect.KAFKA_REACHABLE: ("True", Reason.KAFKA_TAKES_RECORDS),
}
Wrong = Mapping[Aspect, tuple[str, str, str]]
"""Status, reason and message of conditions that are not as they should be."""


class OperatorWorld:
    """An operator's groups, and its site."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.glances: dict[ResourceKey, Glance] = {}
        self.collectors: dict[ResourceKey, CollectorGlance] = {}
        self.replays: dict[ResourceKey, ReplayStatus] = {}
        self.site = Site(
            OperatorSource(lambda: self.glances, lambda: self.collectors, lambda: self.replays),
            clock=self.clock.seconds,
            history=History(POINTS, SUBJECTS),
        )

    def page(self, path: str = "/", query: str = "") -> Element:
        answer = self.site.answer(path, query)
        assert answer is not None
        return read(answer.body.decode())

    def group(
        self,
        name: str = "team-a/clicks-backup",
        *,
        wrong: Wrong | None = None,
        lag: tuple[int, float] | None = (0, 0.0),
        stored: int = 0,
        reports: Mapping[str, Mapping[str, Any] | str] | None = None,
        **sections: Any,
    ) -> None:
        """Let a group stand so; ``stored`` are its objects, of 1 MiB and 1,000 records each."""
        key = ResourceKey(*name.split("/"))
        now = self.clock.now()
        uploads = {
            "objects": stored,
            "bytes": stored << 20,
            "records": stored * 1_000,
            "last": now if stored else None,
            "failures": 0,
            "failuresLastHour": 0,
        }
        status = Status.model_validate(
            {
                "conditions": _conditions(wrong or {}, now),
                "generation": 1,
                "revision": REVISION,
                "groupId": key.name,
                "members": {"desired": 2, "ready": 2, "list": _members(key.name)},
                "summary": {"members": "2/2", "state": Reason.MEMBERS_READY},
                "rollout": {"phase": "Steady", "since": NOON - timedelta(days=2), "stable": REVISION},
                "uploads": uploads | sections.pop("uploads", {}),
                **sections,
            }
        )
        said = {pod: _report(one) for pod, one in (reports or {}).items()}
        known = None if lag is None else KnownLag(summarise(_lags(*lag), now))
        self.glances[key] = Glance(key, status, known, said, 900.0)

    def collector(
        self,
        name: str = "shop/prices",
        *,
        wrong: Wrong | None = None,
        silent: int = 0,
        waiting: int = 0,
        said: Sequence[Mapping[str, Any] | str] = (),
        pods: Sequence[Pod] = (),
    ) -> None:
        """Let a collector of 40 feeds stand so; each record that waits has 1 KiB; ``said`` is by replicas 0 and on."""
        status = {
            "conditions": _conditions(wrong or {}, self.clock.now(), FINE_COLLECTOR),
            "revision": REVISION,
            "replicas": {"desired": 2, "ready": 2, "updated": 2},
            "feeds": {"total": 40, "silent": silent, "failing": silent},
            "spool": {"records": waiting, "bytes": waiting << 10, "dropped": 0},
            "summary": {"replicas": "2/2", "state": "ReplicasReady"},
        }
        key = _key(name, "FeedCollector")
        reports = {f"{key.name}-collector-{number}": _report(one) for number, one in enumerate(said)}
        self.collectors[key] = CollectorGlance(key, CollectorStatus.model_validate(status), reports, pods)

    def replay(self, name: str, phase: str, *, wrong: Wrong | None = None, **sections: Any) -> None:
        """Let a replay stand so, a quarter of it done."""
        progress = {"offsets": 2_000, "stored": 500}
        status = {
            "conditions": _conditions(wrong or {}, self.clock.now(), {}),
            "phase": phase,
            "progress": progress | sections.pop("progress", {}),
            "summary": {"state": phase, "progress": "25%"} | sections.pop("summary", {}),
        }
        self.replays[_key(name, "LogReplay")] = ReplayStatus.model_validate(status)


def _key(name: str, kind: str) -> ResourceKey:
    namespace, _, name = name.partition("/")
    return ResourceKey(namespace, name, kind)


@dataclass
class _Spool:
    fill: Fill
    oldest: bytes | None = None


def spool_of(waiting: int) -> Spool:
    """Return a spool in which so many records wait, of 1 KiB each."""
    return cast("Spool", _Spool(Fill(waiting, waiting << 10, 0)))


def replica(
    number: int = 0,
    *,
    polls: Mapping[str, int] | None = None,
    sent: int = 0,
    waiting: int = 0,
    away: str | None = None,
    started: float = 0.0,
    feeds: Sequence[PolledFeed] = (),
) -> Mapping[str, Any]:
    """Return what a replica of the collector ``prices`` says."""
    counts = SentCounts()
    counts.sent, counts.away = sent, away
    parts = Parts(feeds, spool_of(waiting), counts)
    metrics = FeedMetrics("prices", name := f"prices-collector-{number}", parts)
    metrics.totals.update(polls or {})
    return status_document("prices", name, started, metrics, parts)


def _conditions(wrong: Wrong, now: datetime, fine: Fine = FINE) -> Sequence[Condition]:
    told = {aspect: (*found, "it is as it should be") for aspect, found in fine.items()} | dict(wrong)
    return [
        Condition.model_validate(
            {"type": aspect, "status": status, "reason": reason, "message": message, "lastTransitionTime": now}
        )
        for aspect, (status, reason, message) in told.items()
    ]


def _members(name: str) -> list[dict[str, Any]]:
    names = [f"{name}-{REVISION}-{number}" for number in range(2)]
    return [{"name": one, "ready": True, "partitions": 12, "revision": REVISION} for one in names]


def _report(said: Mapping[str, Any] | str) -> MemberReport:
    return MemberReport(None, said) if isinstance(said, str) else MemberReport(said)


def _lags(records: int, seconds: float) -> list[PartitionLag]:
    first = PartitionLag(TopicPartition("clicks", 0), 0, records, seconds)
    return [first, *(PartitionLag(TopicPartition("clicks", number), 0, 0, 0.0) for number in range(1, 24))]
