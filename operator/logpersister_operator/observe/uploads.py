"""What members have stored in all. A member counts since it started; what earlier ones stored is not forgotten."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from logpersister_operator.observed_state import MemberReport, Stored

HOUR = timedelta(hours=1)


def _counts(document: Mapping[str, Any]) -> Counter[str]:
    uploads, quarantine = (document.get(name) or {} for name in ("uploads", "quarantine"))
    found = {name: uploads.get(name) for name in ("objects", "bytes", "records", "dropped", "failures", "late")}
    found["quarantined"] = quarantine.get("records")
    return Counter({name: int(count or 0) for name, count in found.items()})


@dataclass(frozen=True, slots=True)
class _Process:
    """A member from its start to its end."""

    started: datetime
    counts: Counter[str]
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
        self._ended = Counter[str]()
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
            self._began, self._ended = now, _counts(status)
        for name in self._processes.keys() - reports.keys():
            self._end(self._processes.pop(name))
        for name, document in answers.items():
            with suppress(KeyError, TypeError, ValueError):  # no report of a member
                self._hear(name, document, now)
        return self._sum(now)

    def _hear(self, name: str, document: Mapping[str, Any], now: datetime) -> None:
        started, uploads = datetime.fromisoformat(document["startedAt"]), document["uploads"]
        process = _Process(started, _counts(document), int(uploads["failuresLastHour"]), now)
        known = self._processes.get(name)
        if known is not None and known.started != started:
            self._end(known)
        elif known is None and self._began is not None and started < self._began:
            self._ended -= process.counts  # the status had it before this began; what would be negative is 0
        self._processes[name] = process

    def _end(self, process: _Process) -> None:
        self._ended += process.counts
        if process.failures_last_hour:
            self._failed_before_end.append((process.heard, process.failures_last_hour))

    def _sum(self, now: datetime) -> Stored:
        total = sum((process.counts for process in self._processes.values()), self._ended)
        self._failed_before_end = [one for one in self._failed_before_end if now - one[0] < HOUR]
        recent = [count for _, count in self._failed_before_end]
        recent += [process.failures_last_hour for process in self._processes.values()]
        return Stored(**total, failures_last_hour=sum(recent))
