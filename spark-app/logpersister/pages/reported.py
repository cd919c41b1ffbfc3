"""What members or collectors have said of themselves, as one page: for whoever looks at all of them from outside. Pure.

Documents are those of ``/status``, perhaps of another version: what one of them does not say is not known.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from logpersister.pages.figures import lag_in_words
from logpersister.pages.views import ROWS, Cell, Page, Table, alarm, first_of
from logpersister.report.human import duration, number, size
from logpersister.report.lag import LagSummary
from logpersister.report.status import MemberState

FAILURES: Final = 10
_MEMBERS: Final = (
    "member", "state", "revision", "partitions", "lag", "oldest", "uploaded", "last upload", "failures", "held",
)  # fmt: skip
_TOPICS: Final = ("topic", "partitions", "behind", "lag", "oldest")
_REPLICAS: Final = (
    "replica", "state", "feeds", "silent", "failing", "new", "unchanged", "other polls", "missed", "sent", "in spool",
    "dropped",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """An answer to ``/status``, or why there is none."""

    address: str
    document: Mapping[str, Any]
    """Empty: there is none."""
    problem: str = ""

    def get(self, *names: str) -> Any:
        """Return a field of the document; None: it says nothing of it."""
        found: Any = self.document
        for name in names:
            found = found.get(name) if isinstance(found, Mapping) else None
        return found

    def count(self, *names: str) -> int | None:
        """Return a number of the document; None: it says nothing of it."""
        found = self.get(*names)
        return found if type(found) is int else None

    def counts(self, *names: str) -> Mapping[str, int]:
        """Return the numbers of a mapping in the document by their names."""
        found = self.get(*names)
        named = found.items() if isinstance(found, Mapping) else ()
        return {name: count for name, count in named if type(count) is int}

    def time(self, *names: str) -> datetime | None:
        try:
            found = datetime.fromisoformat(str(self.get(*names)))
        except ValueError:
            return None
        return None if found.tzinfo is None else found

    def parts(self, *names: str) -> "Iterator[Report]":
        """Yield the mappings in a list of the document."""
        found = self.get(*names)
        for one in found if isinstance(found, list) else ():
            if isinstance(one, Mapping):
                yield Report(self.address, one)


def group_page(
    group: str, reports: Sequence[Report], lag: LagSummary | None, now: datetime, notes: Sequence[str]
) -> Page:
    """Return the page of a group of members; the lag is that of the whole group, by Kafka (None: not known)."""
    known = [one for one in reports if one.get("group") == group]
    running = sum(one.get("state") == MemberState.RUNNING for one in known)
    whole = running == len(reports)
    return Page(
        title=f"Group {group}",
        state=Cell(
            f"{running} of {len(reports)} members running", "good" if whole else "warning" if running else "bad"
        ),
        facts=_facts(known, lag, now),
        tables=[
            Table("Members", _MEMBERS, [_member(one, group, now) for one in reports], "Failures of the last hour."),
            *_topics(lag),
            *_troubles(known, now),
        ],
        notes=[*_strangers(reports, "group", group), *notes],
    )


def collector_page(collector: str, reports: Sequence[Report], now: datetime, notes: Sequence[str]) -> Page:
    """Return the page of the replicas of a collector."""
    known = [one for one in reports if one.get("collector") == collector]
    writing = sum(one.get("kafka", "away") is None for one in known)
    whole = writing == len(reports)
    feeds = troubled_feeds(known, lambda time: _ago(time, now))
    return Page(
        title=f"Collector {collector}",
        state=Cell(f"{writing} of {len(reports)} replicas write to Kafka", "good" if whole else "bad"),
        facts=(),
        tables=[replicas_table(collector, reports), *([feeds] if feeds.rows else ())],
        notes=[*_strangers(reports, "collector", collector), *notes],
    )


def replicas_table(collector: str, reports: Sequence[Report]) -> Table:
    """Return the replicas of a collector, each with what it has counted."""
    rows = [_replica(one, collector) for one in reports]
    return Table("Replicas", _REPLICAS, rows, "Counts since their start.", _REPLICAS[2:])


def troubled_feeds(known: Sequence[Report], told: Callable[[datetime | None], str]) -> Table:
    """Return the feeds that replicas name as silent or failing; ``told`` puts times into words."""
    worst = [
        (str(feed.get("id")), Cell("silent", "bad") if feed.get("silent") else Cell("failing", "warning"),
         told(feed.time("newAt")), str(one.get("replica")), str(feed.get("reason")))
        for one in known
        for feed in one.parts("feeds", "worst")
    ]  # fmt: skip
    rows = sorted(worst, key=lambda row: str(row[0]))[:ROWS]
    header, note = ("feed", "state", "newest content", "replica", "reason"), first_of(len(worst), len(rows))
    return Table("Feeds in trouble", header, rows, note, empty="None." if known else "No replica answers.")


def _facts(known: Sequence[Report], lag: LagSummary | None, now: datetime) -> list[tuple[str, str | Cell]]:
    def total(*names: str) -> int:
        return sum(one.count(*names) or 0 for one in known)

    revisions = Counter(f"{one.get('generation')}, {one.get('revision')}" for one in known)
    records, oldest = lag_in_words(lag)
    uploads = [time for one in known if (time := one.time("uploads", "last")) is not None]
    return [
        (
            "Generation, revision",
            "; ".join(one if count == 1 else f"{one} in {count} members" for one, count in sorted(revisions.items())),
        ),
        ("Lag in records", records),
        ("Oldest record waits", oldest),
        ("Uploaded", f"{number(total('uploads', 'objects'))} objects, {size(total('uploads', 'bytes'))}"),
        ("Last upload", _ago(max(uploads, default=None), now)),
        ("Upload failures in the last hour", alarm(total("uploads", "failuresLastHour"))),
        ("Records in quarantine", alarm(total("quarantine", "records"))),
        ("Offsets lost", alarm(total("dataLoss", "offsets"))),
    ]


def _member(one: Report, group: str, now: datetime) -> Sequence[str | Cell]:
    if one.get("group") != group:
        return _stranger(one, len(_MEMBERS))
    known = one.get("lag", "known")
    seconds = one.get("lag", "seconds") if known else None
    return (
        str(one.get("member")),
        _member_state(one),
        str(one.get("revision")),
        number(one.count("assignment", "count")),
        number(one.count("lag", "records") if known else None),
        duration(seconds),
        size(one.count("uploads", "bytes") or 0),
        _ago(one.time("uploads", "last"), now),
        alarm(one.count("errors", "lastHour") or 0),
        alarm(one.count("heldPartitions", "count") or 0),
    )


def _member_state(one: Report) -> Cell:
    state = str(one.get("state"))
    if one.get("outages") or state == MemberState.FAILED:
        return Cell(f"{state}: {one.get('stateMessage')}" if one.get("stateMessage") else state, "bad")
    return Cell(state, "good" if state == MemberState.RUNNING else "warning")


def _stranger(one: Report, columns: int) -> Sequence[str | Cell]:
    """Return the row of an address at which nobody of this name answers; a note says why."""
    return (one.address, Cell("no answer" if one.problem else "another", "bad"), *([""] * (columns - 2)))


def _strangers(reports: Sequence[Report], field: str, name: str) -> Iterator[str]:
    for one in reports:
        if one.get(field) != name:
            other = one.get(field)
            yield f"{one.address} {one.problem or (f'is of {field} {other}' if other else f'is no {field}')}."


def _topics(lag: LagSummary | None) -> Iterator[Table]:
    if lag is None:
        return

    worst_first = sorted(lag.topics.items(), key=lambda item: (-(item[1].seconds or 0.0), -item[1].records, item[0]))
    rows = [
        (topic, number(one.partitions), number(one.behind), *lag_in_words(one)) for topic, one in worst_first[:ROWS]
    ]
    yield Table("Topics", _TOPICS, rows, first_of(len(lag.topics), len(rows)))


def _troubles(known: Sequence[Report], now: datetime) -> Iterator[Table]:
    held = [
        (f"{entry['topic']}-{entry['partition']}", entry["reason"], entry["message"])
        for one in known
        for entry in one.get("heldPartitions", "first") or ()
    ]
    if held:
        yield Table("Held partitions", ("partition", "reason", "what it waits for"), sorted(held))
    failures = [
        (str(entry["time"]), str(one.get("member")), _range(entry), f"{entry['kind']}: {entry['message']}")
        for one in known
        for entry in one.get("errors", "recent") or ()
    ]
    newest = [
        (_ago(datetime.fromisoformat(time), now), *rest) for time, *rest in sorted(failures, reverse=True)[:FAILURES]
    ]
    if newest:
        note = first_of(len(failures), len(newest))
        yield Table("Newest failures", ("when", "member", "range", "message"), newest, note)


def _range(entry: Mapping[str, Any]) -> str:
    if entry.get("topic") is None:
        return "the bucket"
    return f"{entry['topic']}-{entry['partition']} [{entry['start']},{entry['end']})"


def _replica(one: Report, collector: str) -> Sequence[str | Cell]:
    if one.get("collector") != collector:
        return _stranger(one, len(_REPLICAS))
    away = one.get("kafka", "away")
    polls = one.counts("polls")
    others = sum(count for result, count in polls.items() if result not in {"new", "unchanged", "missed"})
    return (
        str(one.get("replica")),
        Cell("working", "good") if away is None else Cell(f"Kafka is away: {away}", "bad"),
        number(one.count("feeds", "total")),
        alarm(one.count("feeds", "silent") or 0),
        alarm(one.count("feeds", "failing") or 0),
        number(polls.get("new")),
        number(polls.get("unchanged")),
        number(others),
        alarm(polls.get("missed", 0)),
        number(one.count("records", "sent")),
        number(one.count("spool", "records")),
        alarm(one.count("spool", "dropped") or 0),
    )


def _ago(time: datetime | None, now: datetime) -> str:
    return "never" if time is None else f"{duration(max(0.0, round((now - time).total_seconds())))} ago"
