"""Reports what a member does: to logs, metrics and the status board."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from logpersister.backoff import PartlyFailedError
from logpersister.finish.copying import CopyError
from logpersister.member.cycle import Cycle
from logpersister.member.listener import Listener
from logpersister.member.refusals import OF_TOPICS, Refusals
from logpersister.member.summary import Summary
from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.report.duties import DutyReport
from logpersister.report.facts import (
    BucketFailed,
    DataLoss,
    HeldPartition,
    LateRecords,
    PendingIntent,
    Quarantined,
    RangeFailed,
)
from logpersister.report.finish import FinishReport, TellingReport
from logpersister.report.lag import summarise
from logpersister.report.lines import log_each
from logpersister.report.metrics import CommitStep, Metrics
from logpersister.report.outages import Server
from logpersister.report.plain import plain
from logpersister.report.status import StatusBoard
from logpersister.report.tables import TablesReport
from logpersister.storage.errors import StorageError
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)
_OF_DUTIES: Final[tuple[Server, ...]] = ("catalog", "copy")


class MembershipState(Protocol):
    """How this process stands in the group."""

    @property
    def joined(self) -> bool: ...

    @property
    def rebalances(self) -> int: ...

    @property
    def lost_partitions(self) -> int: ...

    @property
    def group_generation(self) -> int | None: ...


class Reports(Listener):
    """A listener that counts, logs and shows."""

    def __init__(self, metrics: Metrics, board: StatusBoard) -> None:
        self.refusals = Refusals()
        """Servers that are of no use, as what is reported tells."""
        self._metrics = metrics
        self._board = board
        self._summary = Summary()
        self._rebalances = 0
        self._lost_partitions = 0

    def stored(self, outcomes: Sequence[RangeOutcome]) -> None:
        for outcome in outcomes:
            for server in OF_TOPICS:
                self.refusals.worked(server, outcome.range.partition.topic)
            if outcome.objects:
                self.refusals.worked("bucket")
            log.debug("range.written", **self._count(outcome), keys=[written.key for written in outcome.objects])
        if outcomes:
            objects = [written for outcome in outcomes for written in outcome.objects]
            log.info(
                "commit.stored",
                ranges=len(outcomes),
                topics=len({outcome.range.partition.topic for outcome in outcomes}),
                objects=len(objects),
                records=sum(written.records for written in objects),
                bytes=sum(written.bytes for written in objects),
                seconds=round(max(outcome.seconds for outcome in outcomes), 3),
            )
        refused = [_quarantined(one.range, one.quarantined) for one in outcomes if one.quarantined is not None]
        log_each(log, "records.quarantined", refused, level="warning")
        adjusted = [
            {**plain(one.range), "values": sum(one.adjusted.values()), "reasons": dict(one.adjusted)}
            for one in outcomes
            if one.adjusted
        ]
        log_each(log, "values.adjusted", adjusted)
        late = [
            {**plain(one.range), "records": one.late.records, "to": one.late.to}
            for one in outcomes
            if one.late is not None
        ]
        log_each(log, "records.late", late, level="warning")
        silent = [{**plain(one.range), "offsets": one.unexplained} for one in outcomes if one.unexplained]
        log_each(log, "range.unexplained", silent)

    def _count(self, outcome: RangeOutcome) -> Mapping[str, object]:
        """Count a range; return what the log says of it."""
        self._metrics.range_written(outcome)
        self._board.range_written(outcome)
        for reason, count in outcome.retries.items():
            self._metrics.retried(reason, count)
        return {
            **plain(outcome.range),
            "objects": len(outcome.objects),
            "records": outcome.records,
            "bytes": outcome.bytes,
            "seconds": round(outcome.seconds, 3),
        }

    def failed(self, range_: Range, error: WorkError) -> None:
        if error.upload:
            self.refusals.failed("bucket", error.message)
        for server in OF_TOPICS:
            if error.kind == server:
                self.refusals.failed(server, error.message, range_.partition.topic)
        failed = RangeFailed(range_, error.kind, error.message, upload=error.upload)
        self._metrics.range_failed(failed)
        self._metrics.retried("range")
        self._board.range_failed(failed)
        log.warning(
            "range.failed",
            **plain(range_),
            kind=error.kind,
            message=error.message,
        )

    def bucket_failed(self, error: StorageError) -> None:
        self.refusals.failed("bucket", str(error))
        failed = BucketFailed(error.kind, str(error))
        self._metrics.bucket_failed(failed)
        self._board.bucket_failed(failed)

    def lost(self, partition: TopicPartition, start: Offset, end: Offset, *, skipped: bool) -> None:
        loss = DataLoss(partition, start, end, skipped=skipped)
        self._metrics.data_lost(loss)
        self._board.data_lost(loss)

    def duty(self, report: DutyReport) -> None:
        self._board.duty(report)

    def performed(self, duty: str, topic: str, seconds: float, error: Exception | None) -> None:
        self._metrics.duty_performed(duty, seconds, failed=error is not None)
        cause = error.__cause__ if isinstance(error, PartlyFailedError) else error
        if isinstance(cause, TableError) and cause.is_of_catalog:
            self.refusals.failed("catalog", str(cause), f"{duty} of {topic}")
        elif isinstance(error, CopyError):
            self.refusals.failed("copy", str(error), f"{duty} of {topic}")
        elif error is None:
            for server in _OF_DUTIES:
                self.refusals.worked(server, f"{duty} of {topic}")

    def finish(self, report: FinishReport) -> None:
        self._board.finish(report)

    def folder_finished(self, topic: str, *, guessed: bool) -> None:
        self._metrics.folder_finished(topic, guessed=guessed)

    def late(self, topic: str, records: int) -> None:
        self._metrics.late(topic, LateRecords(records, "append"))
        self._board.late(records)

    def tables(self, report: TablesReport) -> None:
        self._metrics.tables.show(report)
        self._board.tables(report)

    def appended(self, topic: str, table: str, rows: int) -> None:
        self._metrics.tables.appended(topic, table, rows)

    def telling(self, report: TellingReport) -> None:
        self._board.telling(report)

    def told(self, policy: str, topic: str, folders: int, refused: int) -> None:
        self._metrics.told(policy, topic, folders, refused)

    def committing(self, step: CommitStep, seconds: float, failed: Mapping[TopicPartition, Exception]) -> None:
        for error in {type(error): error for error in failed.values()}.values():
            self._metrics.commit_failed(step, error)
        if not failed:
            self._metrics.committed(step, seconds)

    def show(self, cycle: Cycle, group: MembershipState) -> None:
        """Show where the member stands after a turn."""
        self._metrics.jobs(cycle.execution.jobs_in_flight, cycle.execution.ranges_in_flight)
        owned = cycle.states.owned()
        self._board.assigned(owned)
        self._show_rebalances(group)
        self._show_lag(cycle, joined=group.joined)
        held = [HeldPartition(p, hold.reason, hold.message) for p, hold in cycle.states.held().items()]
        self._metrics.held(held)
        self._board.held(held)
        self._board.pending(
            PendingIntent(i.partition, i.start, i.ends, i.revision, i.generation) for i in cycle.states.pending()
        )
        self._summary.show(owned, self._board.snapshot())

    def _show_rebalances(self, group: MembershipState) -> None:
        rebalances, lost = group.rebalances, group.lost_partitions
        for _ in range(rebalances - self._rebalances):
            self._metrics.rebalanced()
            self._board.rebalanced(group.group_generation)
        if lost > self._lost_partitions:
            self._metrics.partitions_lost(lost - self._lost_partitions)
        self._board.in_group(group.group_generation, lost)  # it rebalances without a change of ours, too
        self._rebalances, self._lost_partitions = rebalances, lost

    def _show_lag(self, cycle: Cycle, *, joined: bool) -> None:
        """Show the lag of all partitions but those that cannot be read; not while others are not resolved."""
        if not joined:
            self._metrics.lag_unknown()
            self._board.lag_unknown("not in the group")
            return
        self._board.unreadable(cycle.unreadable.values())
        unseen = {p.topic for p in cycle.states.unresolved() if p not in cycle.unreadable}
        summary = summarise(
            (lag for lag in cycle.end_offsets.lags() if lag.partition.topic not in unseen), datetime.now(UTC)
        )
        self._metrics.lag(summary)
        if unseen:
            more = f" (and {len(unseen) - 1} more topics)" if len(unseen) > 1 else ""
            self._board.lag_unknown(f"topic {min(unseen)}: its positions are not known yet{more}")
        else:
            self._board.lag(summary)


def _quarantined(range_: Range, quarantined: Quarantined) -> Mapping[str, object]:
    """Return what the log says of the refused records of a range; never what is in them."""
    return {
        **plain(range_),
        "records": quarantined.records,
        "first_offset": quarantined.first,
        "reason": quarantined.reason,
        "key": quarantined.key,
    }
