"""The pages of a member: topics of which it has partitions. All of it comes from its board and its metrics."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final

from logpersister.pages.figures import BYTES, LAG, OLDEST, RECORDS, a_minute, lag_in_words, rounded
from logpersister.pages.history import WHOLE, History, Reading
from logpersister.pages.views import (
    OF_PROCESS,
    Cell,
    Figure,
    Page,
    Table,
    Wanted,
    alarm,
    first_of,
    link_to,
    part_of,
    plots,
    sparkline,
    when,
    without_plots,
)
from logpersister.report.facts import BucketFailed
from logpersister.report.human import duration, number, size
from logpersister.report.lag import TopicLag
from logpersister.report.metrics import Metrics
from logpersister.report.status import MemberState, RecentError, Status, StatusBoard, utc_now

_FAILURES: Final = Figure("failures", "Upload failures of this member", a_minute)
_HEADER: Final = (
    "topic", "state", "lag", "oldest waits", "stored", "last upload", "failures", "quarantined", "lag before"
)  # fmt: skip
_NUMBERS: Final = ("lag", "oldest waits", "stored", "failures", "quarantined")
_NOTE: Final = "Records and uploads since the start of the process. Failures are those among its 20 newest ones."


class MemberSource:
    """What a member knows of its topics."""

    word: Final = "topics"
    depth: Final = 1
    paths: Final = OF_PROCESS

    def __init__(self, board: StatusBoard, metrics: Metrics, clock: Callable[[], datetime] = utc_now) -> None:
        self.folders: Final = {self.word: self._topic}
        self._board = board
        self._metrics = metrics
        self._clock = clock
        self._uploads: dict[str, tuple[float, datetime]] = {}
        """Objects of topics as they were seen last, and when their number rose."""

    @property
    def name(self) -> str:
        return self._board.snapshot().identity.member

    def readings(self) -> Mapping[str, Reading]:
        status, stored = self._board.snapshot(), self._metrics.by_topic()
        lags = {} if status.lag is None else status.lag.topics
        whole = {"lag": None if status.lag is None else status.lag.records}
        totals = {"bytes": status.totals.bytes, "failures": status.totals.upload_failures}
        found = {WHOLE: Reading(whole, totals)}
        for topic in stored.keys() | lags.keys():
            lag, counts = lags.get(topic), stored.get(topic, {})
            self._look_for_uploads(topic, counts.get("objects", 0.0))
            gauges = {"lag": None, "seconds": None} if lag is None else {"lag": lag.records, "seconds": lag.seconds}
            counters = {name: counts.get(name, 0.0) for name in ("records", "bytes")}
            waiting = 0 if lag is None else lag.records
            found[topic] = Reading(gauges, counters, waiting + counters["records"])
        return found

    def home(self, history: History, wanted: Wanted) -> Page:
        status, stored = self._board.snapshot(), self._metrics.by_topic()
        lags = {} if status.lag is None else status.lag.topics
        stuck = _stuck(status)
        known = _topics(status, stored)
        by_trouble = sorted(known, key=lambda topic: (topic not in stuck, -_seconds(lags.get(topic)), topic))
        topics, page, pages = part_of(by_trouble, wanted.page)
        failures = Counter(_topic_of(error) for error in status.errors)
        rows = []
        for topic in topics:
            lag, counts = lags.get(topic), stored.get(topic, {})
            row = (
                link_to(self.word, topic),
                _state(status, topic),
                *lag_in_words(lag),
                rounded(counts.get("records", 0.0)),
                self._last_upload(topic, status),
                number(failures[topic]),
                rounded(counts.get("quarantined", 0.0)),
                sparkline(history, topic, LAG),
            )
            rows.append(row)
        return Page(
            title=f"Group {status.identity.group}",
            state=_member_state(status),
            facts=_facts(status),
            plots=plots(history, WHOLE, (LAG, BYTES, _FAILURES)),
            tables=(Table("Topics", _HEADER, rows, _NOTE, _NUMBERS, "No partition yet."), *_troubles(status)),
            notes=(
                *without_plots(history, "topic"),
                *([f"The lag is not known: {status.lag_message}."] if status.lag is None else []),
            ),
            number=page,
            pages=pages,
        )

    def _topic(self, history: History, name: str) -> Page | None:
        status, stored = self._board.snapshot(), self._metrics.by_topic()
        lag = None if status.lag is None else status.lag.topics.get(name)
        if name not in _topics(status, stored):
            return None
        counts, (records, oldest) = stored.get(name, {}), lag_in_words(lag)
        facts = (
            ("Partitions here", "?" if lag is None else number(lag.partitions)),
            ("Partitions behind", "?" if lag is None else number(lag.behind)),
            ("Lag in records", records),
            ("Oldest record waits", oldest),
            ("Records stored", rounded(counts.get("records", 0.0))),
            ("Bytes uploaded", size(round(counts.get("bytes", 0.0)))),
            ("In quarantine", rounded(counts.get("quarantined", 0.0))),
            ("Last upload", self._last_upload(name, status)),
        )
        whole = plots(history, WHOLE, (_FAILURES,))
        of_topic = plots(history, name, (LAG, OLDEST, RECORDS, BYTES))
        return Page(
            title=f"Topic {name}",
            state=_state(status, name),
            facts=facts,
            plots=(*of_topic, *whole),
            tables=(*_troubles(status, name), *_stored(status, name)),
            notes=() if of_topic else ("It has no plots of its own: there are none yet, or others have more to show.",),
        )

    def _look_for_uploads(self, topic: str, objects: float) -> None:
        before = self._uploads[topic][0] if topic in self._uploads else 0.0
        if objects > before:
            self._uploads[topic] = (objects, self._clock())

    def _last_upload(self, topic: str, status: Status) -> str:
        recent = [one.time for one in status.uploads if one.topic == topic]
        seen = self._uploads.get(topic)
        return when(recent[0] if recent else None if seen is None else seen[1])


def _stuck(status: Status) -> set[str]:
    held = {one.partition.topic for one in status.held_partitions}
    return held | {one.partition.topic for one in status.unreadable_partitions}


def _topics(status: Status, stored: Mapping[str, object]) -> set[str]:
    lags = () if status.lag is None else status.lag.topics
    return _stuck(status).union(stored, lags, (partition.topic for partition in status.assignment))


def _member_state(status: Status) -> Cell:
    text = f"Member {status.identity.member}: {status.state} since {when(status.state_since)}"
    message = f" ({status.state_message})" if status.state_message else ""
    if status.outages or status.state == MemberState.FAILED:
        return Cell(text + message, "bad")
    return Cell(text + message, "good" if status.state == MemberState.RUNNING else "warning")


def _facts(status: Status) -> Sequence[tuple[str, str | Cell]]:
    totals, (records, oldest) = status.totals, lag_in_words(status.lag)
    return (
        ("Generation, revision", f"{status.identity.generation}, {status.identity.revision}"),
        ("Version", status.identity.version),
        ("Started", when(status.started_at)),
        ("Partitions here", number(status.assigned)),
        ("Lag in records", records),
        ("Oldest record waits", oldest),
        ("Uploaded", f"{number(totals.objects)} objects, {size(totals.bytes)}, {number(totals.records)} records"),
        ("Last upload", when(status.last_upload)),
        ("Upload failures in the last hour", alarm(status.upload_failures_last_hour)),
        ("Records in quarantine", alarm(totals.quarantined)),
        ("Held partitions", alarm(status.held)),
        ("Offsets lost", alarm(totals.data_loss_offsets)),
    )


def _state(status: Status, topic: str) -> Cell:
    if any(one.partition.topic == topic for one in status.held_partitions):
        return Cell("held", "bad")
    if any(one.partition.topic == topic for one in status.unreadable_partitions):
        return Cell("unreadable", "bad")
    lag = None if status.lag is None else status.lag.topics.get(topic)
    if lag is None:
        return Cell("not known", "warning")
    return Cell("records wait") if lag.records else Cell("current", "good")


def _troubles(status: Status, topic: str | None = None) -> tuple[Table, ...]:
    held = [one for one in status.held_partitions if topic in {None, one.partition.topic}]
    unreadable = [one for one in status.unreadable_partitions if topic in {None, one.partition.topic}]
    losses = [one for one in status.losses if topic in {None, one.partition.topic}]
    errors = [one for one in status.errors if topic is None or _topic_of(one) in {topic, ""}]
    tables = [
        Table(
            "Held partitions",
            ("partition", "reason", "what it waits for"),
            [(str(one.partition), one.reason, one.message) for one in held],
            first_of(status.held, len(status.held_partitions)),
        ),
        Table(
            "Failures",
            ("time", "range", "kind", "message"),
            [_failure(error) for error in errors],
            "The newest 20 of this member. Each was tried again.",
        ),
        Table(
            "Quarantine by reason",
            ("reason", "records", "last", "newest object"),
            _quarantine(status, topic),
            numbers=("records",),
        ),
    ]
    if unreadable:
        rows = [(str(one.partition), one.message) for one in unreadable]
        tables.append(Table("Partitions that cannot be read", ("partition", "message"), rows))
    if losses:
        lost = [(str(one.partition), f"{one.start} to {one.end}", "yes" if one.skipped else "no") for one in losses]
        tables.append(Table("Offsets that Kafka deleted", ("partition", "offsets", "skipped"), lost))
    if topic is None and status.outages:
        away = [(one.server, when(one.since), one.reason) for one in status.outages]
        tables.insert(0, Table("Servers that are away", ("server", "since", "reason"), away))
    return tuple(tables)


def _failure(error: RecentError) -> tuple[str, str, str, str]:
    failure = error.failure
    where = "" if isinstance(failure, BucketFailed) else str(failure.range)
    return when(error.time), where, failure.kind, failure.message


def _quarantine(status: Status, topic: str | None) -> list[tuple[str, str, str, str]]:
    found = [one for one in status.quarantine if topic in {None, one.partition.topic}]
    records: Counter[str] = Counter()
    for one in found:
        records[one.quarantined.reason] += one.quarantined.records
    newest = {one.quarantined.reason: one for one in reversed(found)}
    return [
        (reason, number(count), when(newest[reason].time), newest[reason].quarantined.key)
        for reason, count in records.most_common()
    ]


def _stored(status: Status, topic: str) -> tuple[Table, ...]:
    uploads = [
        (one.key, when(one.time), size(one.bytes), number(one.records)) for one in status.uploads if one.topic == topic
    ]
    worst = [] if status.lag is None else [one for one in status.lag.worst if one.partition.topic == topic]
    return (
        Table(
            "Newest objects",
            ("key", "time", "size", "records"),
            uploads,
            "Those of this topic among the 10 newest of the member.",
            ("size", "records"),
            "No upload yet.",
        ),
        Table(
            "Partitions that are most behind",
            ("partition", "lag", "oldest waits"),
            [(str(one.partition), number(one.records), duration(one.age_seconds)) for one in worst],
            "Those of this topic among the 10 worst of the member.",
            ("lag", "oldest waits"),
        ),
    )


def _topic_of(error: RecentError) -> str:
    return "" if isinstance(error.failure, BucketFailed) else error.failure.range.partition.topic


def _seconds(lag: TopicLag | None) -> float:
    return 0.0 if lag is None or lag.seconds is None else lag.seconds
