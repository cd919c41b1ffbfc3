"""What all replicas of a collector say together. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from logpersister_operator.crd.status_collector import MOST_WORST, Feeds, Spool, WorstFeed
from logpersister_operator.field_types import shortened
from logpersister_operator.observed_state import MemberReport

_Feed = Mapping[str, Any]
_Fields: Final = ("feeds", "kafka", "spool")
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
_OTHER_WORDS: Final = (LookupError, TypeError, ValueError, AttributeError)
"""What becomes of a report that has other fields or values than those of a replica."""


@dataclass(frozen=True, slots=True)
class ReplicaReport:
    """What one replica says at ``/status``."""

    replica: str
    feeds: Mapping[str, Any]
    kafka: Mapping[str, Any]
    spool: Mapping[str, Any]

    @classmethod
    def of(cls, replica: str, document: Mapping[str, Any] | None) -> "ReplicaReport | None":
        """Return the report; None when there is none, or it is none of a collector."""
        if document is None or not all(isinstance(document.get(name), dict) for name in _Fields):
            return None
        return cls(replica, *(document[name] for name in _Fields))

    def worst(self) -> dict[str, _Feed]:
        """Return the feeds that it names, by id: silent ones first, then failing ones."""
        return {one["id"]: one for one in self.feeds["worst"]}

    def may_be_silent(self, feed: str) -> bool:
        """Whether a feed is silent here; one that is not named may be, where not all silent ones are."""
        named = self.worst()
        if feed in named:
            return bool(named[feed]["silent"])
        return bool(self.feeds["silent"] > sum(one["silent"] for one in named.values()))


def reports_of(said: Mapping[str, MemberReport]) -> list[ReplicaReport]:
    """Return what replicas say that answer, of their answers by the names of their pods."""
    found = (ReplicaReport.of(name, one.document) for name, one in sorted(said.items()))
    return [one for one in found if one is not None]


def told_by(reports: Sequence[ReplicaReport]) -> tuple[Feeds | None, Spool | None]:
    """Return what all say of feeds and spools; reports that make no sense count as no answers."""
    try:
        return feeds_of(reports), spool_of(reports)
    except _OTHER_WORDS:
        return None, None


def feeds_of(reports: Sequence[ReplicaReport]) -> Feeds | None:
    """Return the state of all feeds: a feed is silent when it is silent in each replica, and fails when it does in one.

    Replicas name few of their silent feeds, so of many the number is that of the replica with the fewest.
    """
    if not reports:
        return None
    merged = [_merged(feed, reports) for feed in dict.fromkeys(id_ for one in reports for id_ in one.worst())]
    worst = sorted(merged, key=lambda feed: (not feed.silent, feed.new_at or _NEVER, feed.id))
    least = min(one.feeds["silent"] for one in reports)
    named = sum(feed.silent for feed in merged)
    all_named = any(one.feeds["silent"] <= sum(its["silent"] for its in one.worst().values()) for one in reports)
    return Feeds(
        total=max(one.feeds["total"] for one in reports),
        silent=min(least, named) if all_named else least,
        failing=max(one.feeds["failing"] for one in reports),
        worst=tuple(worst[:MOST_WORST]),
    )


def _merged(feed: str, reports: Sequence[ReplicaReport]) -> WorstFeed:
    said = [named[feed] for one in reports if feed in (named := one.worst())]
    return WorstFeed(
        id=feed,
        silent=all(one.may_be_silent(feed) for one in reports),
        new_at=max((datetime.fromisoformat(one["newAt"]) for one in said if one["newAt"]), default=None),
        reason=shortened(str(said[0]["reason"])),
    )


def spool_of(reports: Sequence[ReplicaReport]) -> Spool | None:
    """Return what waits for Kafka in all replicas."""
    if not reports:
        return None
    return Spool(
        records=sum(one.spool["records"] for one in reports),
        bytes=sum(one.spool["bytes"] for one in reports),
        dropped=sum(one.spool["dropped"] for one in reports),
        oldest=min((datetime.fromisoformat(time) for time in _oldest(reports)), default=None),
    )


def _oldest(reports: Iterable[ReplicaReport]) -> Iterable[str]:
    return (one.spool["oldest"] for one in reports if one.spool["oldest"])
