"""The status as a JSON document: names in camelCase as everywhere in the resource, times in RFC 3339. Pure.

docs/monitoring.md describes each field. The document is read by the operator, so fields are added, never renamed.
"""

from collections.abc import Callable

from logpersister.report.facts import BucketFailed, RunningJob
from logpersister.report.finish import finish_document
from logpersister.report.lag import LagSummary, PartitionLag
from logpersister.report.plain import Document, document, plain, rfc3339
from logpersister.report.shadow import figures_document
from logpersister.report.status import MAX_PARTITIONS_OF_JOB, RecentError, RecentQuarantine, Status, StatusBoard
from logpersister.report.tables import tables_document
from logpersister.report.types import types_document


def status_of(board: StatusBoard) -> Callable[[], Document]:
    """Return what makes the document of a board as it is then."""
    return lambda: status_document(board.snapshot())


def status_document(status: Status) -> Document:
    return {
        **document(status.identity),
        "state": str(status.state),
        "stateMessage": status.state_message,
        "stateSince": rfc3339(status.state_since),
        "startedAt": rfc3339(status.started_at),
        "observedAt": rfc3339(status.observed_at),
        "executors": status.executors,
        "outages": plain(status.outages),
        "assignment": {
            "count": status.assigned,
            "partitions": [str(partition) for partition in status.assignment],
        },
        "lag": _lag(status),
        "uploads": _uploads(status),
        "quarantine": {
            "records": status.totals.quarantined,
            "last": rfc3339(status.last_quarantined),
            "recent": [_quarantine(recent) for recent in status.quarantine],
        },
        "types": types_document(status.types),
        "adjusted": {"values": sum(status.totals.adjusted.values()), "reasons": dict(status.totals.adjusted)},
        "progress": {"at": rfc3339(status.progress_at), "jobs": [_job(job) for job in status.jobs]},
        "errors": {
            "count": status.totals.range_failures,
            "lastHour": status.failures_last_hour,
            "last": rfc3339(status.last_failure),
            "recent": [_error(error) for error in status.errors],
        },
        "pendingIntents": {"count": status.pending, "first": plain(status.intents)},
        "heldPartitions": {"count": status.held, "first": plain(status.held_partitions)},
        "unreadablePartitions": {
            "count": status.unreadable,
            "first": [document(one, "since") for one in status.unreadable_partitions],
        },
        "dataLoss": {"offsets": status.totals.data_loss_offsets, "recent": plain(status.losses)},
        "rebalance": document(status.rebalances),
        "duties": [
            {"duty": it.duty, "topics": it.topics, "failing": {"count": it.failing, "first": plain(it.first_failing)}}
            for it in status.duties
        ],
        "finish": None if status.finish is None else finish_document(status.finish, status.telling),
        "tables": None if status.tables is None else tables_document(status.tables),
        "shadow": None if (it := status.shadow) is None else document(it, "figures") | figures_document(it.figures),
        "replay": None if status.replay is None else document(status.replay),
    }


def partition_lag_document(lag: PartitionLag) -> Document:
    return document(lag, "age_seconds") | {"records": lag.records, "seconds": _rounded(lag.age_seconds)}


def lag_summary_document(lag: LagSummary) -> Document:
    """Return the totals and the worst partitions, as ``/status`` and ``logpersister lag --json`` show them."""
    return {
        "records": lag.records,
        "seconds": _rounded(lag.seconds),
        "partitions": lag.partitions,
        "behindPartitions": lag.behind,
        "observedAt": rfc3339(lag.observed_at),
        "worst": [partition_lag_document(one) for one in lag.worst],
    }


def _lag(status: Status) -> Document:
    if status.lag is None:
        return {"known": False, "message": status.lag_message}
    complete = status.lag.partitions >= status.assigned
    return {"known": True, "complete": complete, **lag_summary_document(status.lag)}


def _uploads(status: Status) -> Document:
    return {
        "objects": status.totals.objects,
        "bytes": status.totals.bytes,
        "records": status.totals.records,
        "ranges": status.totals.ranges,
        "dropped": status.totals.dropped,
        "late": status.totals.late,
        "last": rfc3339(status.last_upload),
        "failures": status.totals.upload_failures,
        "failuresLastHour": status.upload_failures_last_hour,
        "recent": plain(status.uploads),
    }


def _quarantine(recent: RecentQuarantine) -> Document:
    quarantined = recent.quarantined
    return document(recent, "quarantined") | document(quarantined, "first") | {"offset": quarantined.first}


def _job(job: RunningJob) -> Document:
    first = [str(partition) for partition in job.partitions[:MAX_PARTITIONS_OF_JOB]]
    return document(job, "partitions") | {"partitions": {"count": len(job.partitions), "first": first}}


def _error(error: RecentError) -> Document:
    failure = error.failure
    if isinstance(failure, BucketFailed):
        where: Document = {"topic": None, "partition": None, "start": None, "end": None, "upload": True}
    else:
        where = {}
    return {"time": rfc3339(error.time), **where, **document(failure)}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
