"""Log lines about a member as a whole: a banner, its partitions when they change, a summary a minute."""

import time
from collections.abc import Callable, Collection
from typing import Any, Final

import structlog

from logpersister.manifest import LogPersister
from logpersister.ranges import TopicPartition
from logpersister.report.facts import Identity
from logpersister.report.human import duration, size
from logpersister.report.lines import partitions_text
from logpersister.report.status import Status, Totals

log = structlog.get_logger(__name__)

SUMMARY_SECONDS: Final = 60.0


def banner(resource: LogPersister, identity: Identity) -> dict[str, Any]:
    """Return what one wants to know of a member when its log begins."""
    kafka, storage, output, upload = (
        resource.spec.kafka,
        resource.spec.storage,
        resource.spec.output,
        resource.spec.upload,
    )
    topics = {"topics": list(kafka.topics)} if kafka.topics is not None else {"topic_pattern": kafka.topic_pattern}
    return {
        "version": identity.version,
        "member": identity.member,
        "generation": identity.generation,
        "revision": identity.revision,
        "brokers": ",".join(map(str, kafka.addresses)),
        **topics,
        "bucket": storage.address,
        "endpoint": storage.endpoint or "AWS",
        "format": str(output.format),
        "compression": str(output.compression),
        "max_bytes": size(upload.max_bytes),
        "max_age": duration(upload.max_age.total_seconds()),
    }


class Summary:
    """Logs what has changed since it was shown last; to be shown every few seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = clock()
        self._totals = Totals()
        self._owned: frozenset[TopicPartition] = frozenset()

    def show(self, owned: Collection[TopicPartition], status: Status) -> None:
        """Log the partitions when they have changed, and the summary when a minute is over."""
        if self._owned != frozenset(owned):
            self._owned = frozenset(owned)
            log.info("member.assignment", count=len(self._owned), partitions=partitions_text(self._owned))
        seconds = self._clock() - self._at
        if seconds >= SUMMARY_SECONDS:
            self._summarise(status, seconds)

    def _summarise(self, status: Status, seconds: float) -> None:
        before, now = self._totals, status.totals
        self._at, self._totals = self._clock(), now
        log.info(
            "member.summary",
            seconds=round(seconds),
            records=now.records - before.records,
            objects=now.objects - before.objects,
            mb_per_second=round((now.bytes - before.bytes) / seconds / 1e6, 3),
            partitions=status.assigned,
            behind_records=None if status.lag is None else status.lag.records,
            behind_seconds=None if status.lag is None or status.lag.seconds is None else round(status.lag.seconds, 1),
            failures=now.range_failures + now.upload_failures - before.range_failures - before.upload_failures,
        )
