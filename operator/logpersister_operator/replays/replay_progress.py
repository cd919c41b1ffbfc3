"""How far a replay is, by what its processes say. Pure."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from logpersister.report.human import duration, size
from logpersister_operator.crd.replay_status import Progress, ReplaySummary


def observed(
    before: Progress | None, reports: Iterable[Mapping[str, Any]], began: datetime | None, now: datetime
) -> Progress | None:
    """Return the progress; None before the first process has said what there is to do.

    Args:
        before: as it was known last.
        reports: what the processes say that answer: each tells of its own partitions.
        began: when these processes began; None while none shall run.
        now: the time.
    """
    told = [(report["replay"], report) for report in reports if isinstance(report.get("replay"), Mapping)]
    if began is None or not told:
        return before and before.model_copy(
            update={"bytes_per_second": 0, "offsets_per_second": 0, "estimated_end": None}
        )
    offsets = max(int(replay["offsets"]) for replay, _ in told)
    stored = min(offsets, max(sum(int(replay["stored"]) for replay, _ in told), before.stored if before else 0))
    goes_on = before is not None and before.since == began
    stored_before = (
        before.stored_before if before is not None and goes_on else stored if before is None else before.stored
    )
    seconds = max(1.0, (now - began).total_seconds())
    rate = (stored - stored_before) / seconds
    left = offsets - stored
    end = None if rate <= 0 else (now + timedelta(seconds=left / rate)).replace(microsecond=0)
    return Progress(
        offsets=offsets,
        stored=stored,
        bytes_per_second=round(sum(int((one.get("uploads") or {}).get("bytes") or 0) for _, one in told) / seconds),
        offsets_per_second=round(rate),
        since=began,
        stored_before=stored_before,
        estimated_end=end,
    )


def completed(before: Progress | None) -> Progress | None:
    """Return the progress of a replay that has stored all."""
    if before is None:
        return None
    done = {"stored": before.offsets, "bytes_per_second": 0, "offsets_per_second": 0, "estimated_end": None}
    return before.model_copy(update=done)


def summary(progress: Progress | None, state: str, now: datetime) -> ReplaySummary:
    """Return the texts that `kubectl get` prints."""
    if progress is None:
        return ReplaySummary(state=state)
    share = 100 if not progress.offsets else 100 * progress.stored // progress.offsets
    end, rate = progress.estimated_end, progress.bytes_per_second
    return ReplaySummary(
        progress=f"{share}%",
        left=None if end is None else duration(max(0.0, (end - now).total_seconds())),
        rate=f"{size(rate).replace(' ', '')}/s" if rate else None,
        state=state,
    )
