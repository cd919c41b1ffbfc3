"""Status of a member as one JSON document of bounded size: ``/status``.

The operator copies it into the resource's status, `logpersister run` draws its progress from it. The member states
facts to a `StatusBoard` from any thread; a reader takes a `Status`, which is an immutable copy.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from typing import Any, Final, TypeVar

from logpersister.ranges import TopicPartition
from logpersister.report.duties import DutyReport
from logpersister.report.facts import (
    BucketFailed,
    DataLoss,
    HeldPartition,
    Identity,
    PendingIntent,
    Quarantined,
    RangeFailed,
    RangeWritten,
    ReplayProgress,
    RunningJob,
    UnreadablePartition,
)
from logpersister.report.finish import FinishReport, TellingReport
from logpersister.report.hourly import HourlyCount
from logpersister.report.lag import LagSummary
from logpersister.report.outages import Outage
from logpersister.report.shadow import ShadowReport
from logpersister.report.tables import TablesReport
from logpersister.report.types import Counted, TypeNumbers

T = TypeVar("T")

MAX_ERRORS: Final = 20
MAX_UPLOADS: Final = 10
MAX_QUARANTINED: Final = 10
MAX_INTENTS: Final = 20
MAX_HELD: Final = 20
MAX_LOSSES: Final = 20
MAX_ASSIGNMENT: Final = 100
MAX_PARTITIONS_OF_JOB: Final = 20
MAX_MESSAGE: Final = 500
"""Characters of a message; the logs have the whole."""


class MemberState(StrEnum):
    """What the member does now."""

    STARTING = "starting"
    """Checks, Spark, and the first poll of the group."""
    JOINING = "joining"
    """Outside any group generation: at the start, and after it was fenced or lost its session."""
    RUNNING = "running"
    PAUSED = "paused"
    """Member of the group, but it promises nothing."""
    DRAINING = "draining"
    """No new promises; running jobs end, then the member leaves."""
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RecentError:
    """A failure and when the board heard of it, last if it is one that repeats itself."""

    time: datetime
    failure: RangeFailed | BucketFailed


@dataclass(frozen=True, slots=True)
class RecentUpload:
    """An object and when the board heard of it."""

    time: datetime
    topic: str
    key: str
    bytes: int
    records: int


@dataclass(frozen=True, slots=True)
class RecentQuarantine:
    """A range of which the parser refused records, and when the board heard of it."""

    time: datetime
    partition: TopicPartition
    quarantined: Quarantined


@dataclass(frozen=True, slots=True)
class Totals:
    """Since this process started."""

    ranges: int = 0
    objects: int = 0
    bytes: int = 0
    records: int = 0
    quarantined: int = 0
    """Records; they are among `records`."""
    dropped: int = 0
    """Records; they are not."""
    adjusted: Mapping[str, int] = field(default_factory=dict)
    """Values that the parser has adjusted, by reason."""
    late: int = 0
    """Records that came when their folder was finished, wherever they went; they are among `records`."""
    upload_failures: int = 0
    range_failures: int = 0
    data_loss_offsets: int = 0

    def written(self, written: RangeWritten) -> "Totals":
        return replace(
            self,
            ranges=self.ranges + 1,
            objects=self.objects + len(written.objects),
            bytes=self.bytes + written.bytes,
            records=self.records + written.records,
            quarantined=self.quarantined + (written.quarantined.records if written.quarantined else 0),
            dropped=self.dropped + written.dropped,
            adjusted=Counter(self.adjusted) + Counter(written.adjusted),
            late=self.late + (written.late.records if written.late else 0),
        )


@dataclass(frozen=True, slots=True)
class Rebalances:
    """Rebalances of this member since its process started."""

    count: int = 0
    group_generation: int | None = None
    """The group's own generation number (not ours); None when it is not known."""
    last: datetime | None = None
    lost_partitions: int = 0
    """Partitions that went to others without a revocation: the group had not heard of this member in time."""


@dataclass(frozen=True, slots=True)
class Status:
    """A copy of the board at one moment."""

    identity: Identity
    state_since: datetime
    started_at: datetime
    observed_at: datetime
    state: MemberState = MemberState.STARTING
    state_message: str = ""
    assigned: int = 0
    assignment: tuple[TopicPartition, ...] = ()
    """The first `MAX_ASSIGNMENT` of them, sorted."""
    lag: LagSummary | None = None
    """None: not known, for the reason in `lag_message`."""
    lag_message: str = "not observed yet"
    totals: Totals = field(default_factory=Totals)
    last_upload: datetime | None = None
    progress_at: datetime | None = None
    """When a range was committed last, or a task of a running job ended; None before the first."""
    jobs: tuple[RunningJob, ...] = ()
    """The jobs that run, the oldest first; there are never many."""
    last_failure: datetime | None = None
    failures_last_hour: int = 0
    """Failed attempts of ranges in the last 60 minutes, to the minute."""
    upload_failures_last_hour: int = 0
    uploads: tuple[RecentUpload, ...] = ()
    quarantine: tuple[RecentQuarantine, ...] = ()
    last_quarantined: datetime | None = None
    errors: tuple[RecentError, ...] = ()
    pending: int = 0
    intents: tuple[PendingIntent, ...] = ()
    held: int = 0
    held_partitions: tuple[HeldPartition, ...] = ()
    unreadable: int = 0
    unreadable_partitions: tuple[UnreadablePartition, ...] = ()
    losses: tuple[DataLoss, ...] = ()
    rebalances: Rebalances = Rebalances()
    executors: int | None = None
    """Spark executors alive; None when Spark runs inside this process."""
    shadow: ShadowReport | None = None
    """None: the member is no shadow."""
    replay: ReplayProgress | None = None
    """None: the member is none of a replay."""
    outages: tuple[Outage, ...] = ()
    duties: tuple[DutyReport, ...] = ()
    finish: FinishReport | None = None
    """None: no folders are finished."""
    telling: tuple[TellingReport, ...] = ()
    tables: TablesReport | None = None
    """None: it has no Iceberg tables."""
    types: tuple[Counted, ...] = ()


def utc_now() -> datetime:
    return datetime.now(UTC)


class StatusBoard:
    """Thread-safe holder of a member's status. Every method is cheap and keeps nothing unbounded."""

    def __init__(self, identity: Identity, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        now = clock()
        self._all_failures = HourlyCount()
        self._upload_failures = HourlyCount()
        self._uploads: deque[RecentUpload] = deque(maxlen=MAX_UPLOADS)
        self._quarantine: deque[RecentQuarantine] = deque(maxlen=MAX_QUARANTINED)
        self._errors: deque[RecentError] = deque(maxlen=MAX_ERRORS)
        self._losses: deque[DataLoss] = deque(maxlen=MAX_LOSSES)
        self._types = TypeNumbers()
        self._status = Status(identity, state_since=now, started_at=now, observed_at=now)

    def state(self, state: MemberState, message: str = "") -> None:
        """State what the member does now; the time since when moves only when the state changes."""
        with self._lock:
            since = self._status.state_since if state == self._status.state else self._clock()
            self._set(state=state, state_message=_short(message), state_since=since)

    def assigned(self, partitions: Collection[TopicPartition]) -> None:
        """All partitions that the member owns now."""
        self._set(assigned=len(partitions), assignment=tuple(sorted(partitions)[:MAX_ASSIGNMENT]))

    def rebalanced(self, group_generation: int | None = None) -> None:
        """The member's assignment changed, in a new group generation if that is known."""
        with self._lock:
            before = self._status.rebalances
            now = replace(before, count=before.count + 1, group_generation=group_generation, last=self._clock())
            self._set(rebalances=now)

    def in_group(self, group_generation: int | None, lost_partitions: int) -> None:
        """Where the group is now, and how many partitions it has ever taken away without asking."""
        with self._lock:
            before = self._status.rebalances
            now = replace(before, group_generation=group_generation, lost_partitions=lost_partitions)
            self._set(rebalances=now)

    def lag(self, summary: LagSummary) -> None:
        self._set(lag=summary, lag_message="")

    def lag_unknown(self, message: str) -> None:
        """The lag could not be observed, and why. The last known one is forgotten: it is never shown as current."""
        self._set(lag=None, lag_message=_short(message))

    def range_written(self, written: RangeWritten) -> None:
        """A range is stored and its end committed; call once for each range."""
        with self._lock:
            now = self._clock()
            topic = written.range.partition.topic
            self._uploads.extend(RecentUpload(now, topic, one.key, one.bytes, one.records) for one in written.objects)
            self._set(
                totals=self._status.totals.written(written),
                last_upload=now if written.objects else self._status.last_upload,
                progress_at=now,
            )
            self._types.range_written(written)
            if written.quarantined is not None:
                quarantined = replace(written.quarantined, reason=_short(written.quarantined.reason))
                self._quarantine.append(RecentQuarantine(now, written.range.partition, quarantined))
                self._set(last_quarantined=now)

    def range_failed(self, failed: RangeFailed) -> None:
        with self._lock:
            now = self._clock()
            self._errors.append(RecentError(now, _shortened(failed)))
            self._all_failures.add(now)
            if failed.upload:
                self._upload_failures.add(now)
            self._count(range_failures=1, upload_failures=int(failed.upload))
            self._set(last_failure=now)

    def bucket_failed(self, failed: BucketFailed) -> None:
        """Call for each attempt. The same failure again takes the place of the last one, so that it hides no other."""
        with self._lock:
            now, failure = self._clock(), _shortened(failed)
            if self._errors and self._errors[-1].failure == failure:
                self._errors.pop()
            self._errors.append(RecentError(now, failure))
            self._upload_failures.add(now)
            self._count(upload_failures=1)
            self._set(last_failure=now)

    def pending(self, intents: Iterable[PendingIntent]) -> None:
        """All intents that are not yet kept, of the member's partitions."""
        count, first = _bounded(intents, MAX_INTENTS)
        self._set(pending=count, intents=first)

    def held(self, partitions: Iterable[HeldPartition]) -> None:
        """All partitions that are held now."""
        count, first = _bounded(partitions, MAX_HELD)
        self._set(held=count, held_partitions=tuple(map(_shortened, first)))

    def unreadable(self, partitions: Iterable[UnreadablePartition]) -> None:
        """All partitions that cannot be read now."""
        count, first = _bounded(partitions, MAX_HELD)
        self._set(unreadable=count, unreadable_partitions=tuple(map(_shortened, first)))

    def data_lost(self, loss: DataLoss) -> None:
        """Call once for each gap that is found."""
        with self._lock:
            self._losses.append(loss)
            self._count(data_loss_offsets=loss.offsets)

    def running(self, jobs: Iterable[RunningJob]) -> None:
        """All jobs that run now, the oldest first."""
        seen = tuple(jobs)
        with self._lock:
            known = [] if self._status.progress_at is None else [self._status.progress_at]
            at = max([*known, *(job.progress_at for job in seen if job.tasks_done)], default=None)
            self._set(jobs=seen, progress_at=at)

    def executors(self, count: int | None) -> None:
        self._set(executors=count)

    def shadow(self, report: ShadowReport) -> None:
        """What the member has compared with the old revision by now."""
        self._set(shadow=replace(report, error=None if report.error is None else _short(report.error)))

    def replay(self, progress: ReplayProgress) -> None:
        """How far the replay is of which this is a member."""
        self._set(replay=progress)

    def duty(self, report: DutyReport) -> None:
        """Where one duty stands now."""
        report = replace(report, first_failing=tuple(map(_shortened, report.first_failing)))
        with self._lock:
            known = {one.duty: one for one in self._status.duties} | {report.duty: report}
            self._set(duties=tuple(known[duty] for duty in sorted(known)))

    def finish(self, report: FinishReport) -> None:
        """Where the member stands with finished folders."""
        self._set(finish=report)

    def tables(self, report: TablesReport) -> None:
        """Set how far tables are behind."""
        self._set(tables=report)

    def late(self, records: int) -> None:
        """Records have come into folders that were finished before."""
        self._count(late=records)

    def telling(self, report: TellingReport) -> None:
        """Where one of those stands who are told of finished folders."""
        last = report.last_refused
        report = report if last is None else replace(report, last_refused=replace(last, reason=_short(last.reason)))
        with self._lock:
            known = {one.policy: one for one in self._status.telling} | {report.policy: report}
            self._set(telling=tuple(known[policy] for policy in sorted(known)))

    def outages(self, outages: tuple[Outage, ...]) -> None:
        """All servers that are away now."""
        self._set(outages=outages)

    def snapshot(self) -> Status:
        with self._lock:
            now = self._clock()
            return replace(
                self._status,
                observed_at=now,
                uploads=tuple(reversed(self._uploads)),
                quarantine=tuple(reversed(self._quarantine)),
                errors=tuple(reversed(self._errors)),
                losses=tuple(reversed(self._losses)),
                types=tuple(self._types.counts.items()),
                failures_last_hour=self._all_failures.count(now),
                upload_failures_last_hour=self._upload_failures.count(now),
            )

    def _set(self, **changes: Any) -> None:
        with self._lock:
            self._status = replace(self._status, **changes)

    def _count(self, **more: int) -> None:
        with self._lock:
            totals = self._status.totals
            self._set(totals=replace(totals, **{name: getattr(totals, name) + by for name, by in more.items()}))


def _short(message: str) -> str:
    return message if len(message) <= MAX_MESSAGE else message[: MAX_MESSAGE - 1] + "…"


def _shortened(one: T) -> T:
    told: Any = one
    short: T = replace(told, message=_short(told.message))
    return short


def _bounded(items: Iterable[T], limit: int) -> tuple[int, tuple[T, ...]]:
    iterator = iter(items)
    first = tuple(islice(iterator, limit))
    return len(first) + sum(1 for _ in iterator), first
