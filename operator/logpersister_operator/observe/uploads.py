"""What members have stored in all. A member counts since it started; what earlier ones stored is not forgotten."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from logpersister_operator.observed_state import MemberReport, Stored

HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Counts:
    objects: int = 0
    bytes: int = 0
    records: int = 0
    dropped: int = 0
    failures: int = 0
    late: int = 0
    quarantined: int = 0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return what the report of a member says, or the status of a resource: here they are alike."""
        uploads, quarantine = (document.get(name) or {} for name in ("uploads", "quarantine"))
        counts = [uploads.get(name) for name in ("objects", "bytes", "records", "dropped", "failures", "late")]
        return cls(*(int(count or 0) for count in (*counts, quarantine.get("records"))))

    def plus(self, other: "_Counts") -> "_Counts":
        return _Counts(*(ours + theirs for ours, theirs in self._beside(other)))

    def minus(self, other: "_Counts") -> "_Counts":
        """Return what is left; a number that would be negative is 0."""
        return _Counts(*(max(0, ours - theirs) for ours, theirs in self._beside(other)))

    def _beside(self, other: "_Counts") -> Iterable[tuple[int, int]]:
        return zip(astuple(self), astuple(other), strict=True)


@dataclass(frozen=True, slots=True)
class _Process:
    """A member from its start to its end."""

    started: datetime
    counts: _Counts
    failures_last_hour: int
    heard: datetime


class UploadTally:
    """Adds up what the members of one resource say. Pure, except for its memory.

    What members stored that ended before this began is in the status: the total there, without what members that
    live say themselves. So a new operator goes on where the last one ended, and misses only what members stored
    that both worked and ended while none ran.
    """

    def __init__(self) -> None:
        self._began: datetime | None = None
        self._ended = _Counts()
        self._processes: dict[str, _Process] = {}
        self._failed_before_end: list[tuple[datetime, int]] = []

    def observe(self, reports: Mapping[str, MemberReport], status: Mapping[str, Any], now: datetime) -> Stored | None:
        """Take in what members say, by the names of their pods; return the sums, None when nothing was ever said.

        Args:
            reports: of all pods of members that there are.
            status: the status as it was written last.
            now: the time.
        """
        answers = {name: report.document for name, report in reports.items() if report.document is not None}
        if self._began is None:
            if "uploads" not in status and not answers:
                return None
            self._began, self._ended = now, _Counts.of(status)
        for name in self._processes.keys() - reports.keys():
            self._end(self._processes.pop(name))
        for name, document in answers.items():
            self._hear(name, document, now)
        return self._sum(now)

    def _hear(self, name: str, document: Mapping[str, Any], now: datetime) -> None:
        started, uploads = datetime.fromisoformat(document["startedAt"]), document["uploads"]
        process = _Process(started, _Counts.of(document), uploads["failuresLastHour"], now)
        known = self._processes.get(name)
        if known is not None and known.started != started:
            self._end(known)
        elif known is None and self._began is not None and started < self._began:
            self._ended = self._ended.minus(process.counts)  # the status had it before this began
        self._processes[name] = process

    def _end(self, process: _Process) -> None:
        self._ended = self._ended.plus(process.counts)
        if process.failures_last_hour:
            self._failed_before_end.append((process.heard, process.failures_last_hour))

    def _sum(self, now: datetime) -> Stored:
        total = self._ended
        for process in self._processes.values():
            total = total.plus(process.counts)
        self._failed_before_end = [one for one in self._failed_before_end if now - one[0] < HOUR]
        recent = [count for _, count in self._failed_before_end]
        recent += [process.failures_last_hour for process in self._processes.values()]
        return Stored(**asdict(total), failures_last_hour=sum(recent))
