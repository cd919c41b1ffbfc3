"""The status as a JSON document: names in camelCase as everywhere in the resource, times in RFC 3339. Pure.

docs/monitoring.md describes each field. The document is read by the operator, so fields are added, never renamed.
"""

from datetime import datetime
from typing import Any

from logpersister.ranges import Range, TopicPartition
from logpersister.report.duties import duty_document
from logpersister.report.facts import BucketFailed, DataLoss, HeldPartition, PendingIntent, RunningJob
from logpersister.report.finish import finish_document
from logpersister.report.human import instant
from logpersister.report.lag import LagSummary, PartitionLag
from logpersister.report.outages import Outage
from logpersister.report.shadow import Difference, ShadowReport, figures_document
from logpersister.report.status import MAX_PARTITIONS_OF_JOB, RecentError, RecentQuarantine, RecentUpload, Status
from logpersister.report.tables import tables_document
from logpersister.report.types import types_document

Document = dict[str, Any]


def status_document(status: Status) -> Document:
    return {
        **_member(status),
        "outages": [_outage(outage) for outage in status.outages],
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
        "pendingIntents": {"count": status.pending, "first": [_intent(intent) for intent in status.intents]},
        "heldPartitions": {"count": status.held, "first": [_held(held) for held in status.held_partitions]},
        "unreadablePartitions": {
            "count": status.unreadable,
            "first": [{**_partition(one.partition), "message": one.message} for one in status.unreadable_partitions],
        },
        "dataLoss": {
            "offsets": status.totals.data_loss_offsets,
            "recent": [_loss(loss) for loss in status.losses],
        },
        "rebalance": {
            "count": status.rebalances.count,
            "groupGeneration": status.rebalances.group_generation,
            "last": rfc3339(status.rebalances.last),
            "lostPartitions": status.rebalances.lost_partitions,
        },
        "duties": [duty_document(duty) for duty in status.duties],
        "finish": None if status.finish is None else finish_document(status.finish, status.telling),
        "tables": None if status.tables is None else tables_document(status.tables),
        "shadow": None if status.shadow is None else _shadow(status.shadow),
    }


def _member(status: Status) -> Document:
    """Identity and state of the member."""
    identity = status.identity
    return {
        "group": identity.group,
        "generation": identity.generation,
        "revision": identity.revision,
        "member": identity.member,
        "version": identity.version,
        "state": str(status.state),
        "stateMessage": status.state_message,
        "stateSince": rfc3339(status.state_since),
        "startedAt": rfc3339(status.started_at),
        "observedAt": rfc3339(status.observed_at),
        "executors": status.executors,
    }


def rfc3339(time: datetime | None) -> str | None:
    """``2026-11-21T12:00:00.123Z``, or None for None."""
    return None if time is None else instant(time, "milliseconds")


def partition_lag_document(lag: PartitionLag) -> Document:
    return {
        **_partition(lag.partition),
        "position": lag.position,
        "end": lag.end,
        "records": lag.records,
        "seconds": _rounded(lag.age_seconds),
    }


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


def _partition(partition: TopicPartition) -> Document:
    return {"topic": partition.topic, "partition": partition.partition}


def _range(range_: Range) -> Document:
    return {**_partition(range_.partition), "start": range_.start, "end": range_.end}


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
        "recent": [_upload(upload) for upload in status.uploads],
    }


def _quarantine(recent: RecentQuarantine) -> Document:
    quarantined = recent.quarantined
    return {
        "time": rfc3339(recent.time),
        **_partition(recent.partition),
        "offset": quarantined.first,
        "reason": quarantined.reason,
        "records": quarantined.records,
        "key": quarantined.key,
    }


def _upload(upload: RecentUpload) -> Document:
    return {"time": rfc3339(upload.time), "key": upload.key, "bytes": upload.bytes, "records": upload.records}


def _job(job: RunningJob) -> Document:
    return {
        "startedAt": rfc3339(job.started_at),
        "progressAt": rfc3339(job.progress_at),
        "tasks": job.tasks,
        "tasksDone": job.tasks_done,
        "ranges": job.ranges,
        "estimatedBytes": job.estimated_bytes,
        "partitions": {
            "count": len(job.partitions),
            "first": [str(partition) for partition in job.partitions[:MAX_PARTITIONS_OF_JOB]],
        },
    }


def _error(error: RecentError) -> Document:
    failure = error.failure
    if isinstance(failure, BucketFailed):
        where: Document = {"topic": None, "partition": None, "start": None, "end": None}
        upload = True
    else:
        where, upload = _range(failure.range), failure.upload
    return {
        "time": rfc3339(error.time),
        **where,
        "kind": failure.kind,
        "message": failure.message,
        "upload": upload,
    }


def _intent(intent: PendingIntent) -> Document:
    return {
        **_partition(intent.partition),
        "start": intent.start,
        "ends": list(intent.ends),
        "revision": intent.revision,
        "generation": intent.generation,
    }


def _held(held: HeldPartition) -> Document:
    return {**_partition(held.partition), "reason": held.reason, "message": held.message}


def _shadow(report: ShadowReport) -> Document:
    return {
        "since": rfc3339(report.since),
        "partitions": report.partitions,
        **figures_document(report.figures),
        "examples": [_difference(example) for example in report.examples],
        "error": report.error,
    }


def _difference(example: Difference) -> Document:
    where = {**_partition(example.partition), "start": example.start, "end": example.end}
    return {**where, "message": example.message}


def _outage(outage: Outage) -> Document:
    return {
        "server": outage.server,
        "since": rfc3339(outage.since),
        "reason": outage.reason,
        "remedy": outage.remedy,
        "tried": outage.tried,
        "lasting": outage.lasting,
    }


def _loss(loss: DataLoss) -> Document:
    return {**_partition(loss.partition), "start": loss.start, "end": loss.end, "skipped": loss.skipped}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
