"""Errors of a range, and the meaning of Kafka's error codes for it.

Error codes: https://kafka.apache.org/protocol#protocol_error_codes
"""

from enum import Enum
from typing import Any, Literal

from logpersister.ranges import Offset, TopicPartition

ErrorKind = Literal[
    "kafka", "corrupt", "data-lost", "hole", "truncated", "unauthorized", "unknown-topic", "topic-recreated"
]


class RangeReadError(Exception):
    """One range cannot be read (now). Other ranges are not concerned."""

    def __init__(
        self,
        kind: ErrorKind,
        partition: TopicPartition,
        offset: Offset,
        reason: str,
        *,
        retriable: bool = False,
        log_start: Offset | None = None,
        log_end: Offset | None = None,
    ) -> None:
        super().__init__(f"{partition} at offset {offset}: {reason}")
        self.kind = kind
        """- ``kafka``: brokers did not give the records in time; try again later.
        - ``corrupt``: the record batch at `offset` is damaged, also when fetched again.
        - ``data-lost``: records from `offset` to `log_start` were deleted before they were read.
        - ``hole``: no source that is asked has the records from `offset` on.
        - ``truncated``: the log ends at `log_end`, before records that were there: an unclean leader election.
        - ``unauthorized``: login or access refused.
        - ``unknown-topic``: the cluster has no such topic or partition.
        - ``topic-recreated``: another topic has that name now."""
        self.partition = partition
        self.offset = offset
        """The first offset that was not read."""
        self.reason = reason
        self.retriable = retriable
        """Whether the same range can be expected to be readable later without anybody doing something."""
        self.log_start = log_start
        """First offset that the log still has (``data-lost`` and ``truncated``)."""
        self.log_end = log_end
        """Offset after the last one of the log (``data-lost`` and ``truncated``)."""

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions are pickled by their args, which would lose everything but the message.
        details = {"retriable": self.retriable, "log_start": self.log_start, "log_end": self.log_end}
        return _restore, (self.kind, self.partition, self.offset, self.reason, details)


def _restore(
    kind: ErrorKind, partition: TopicPartition, offset: Offset, reason: str, details: dict[str, Any]
) -> RangeReadError:
    return RangeReadError(kind, partition, offset, reason, **details)


class Verdict(Enum):
    """What to do about an error code of one partition."""

    OK = "ok"
    RETRY = "retry"
    """Ask the same broker again, after a pause."""
    MOVED = "moved"
    """The partition is elsewhere, or we or the broker do not know its leader yet: look it up, then retry."""
    OUT_OF_RANGE = "out-of-range"
    UNKNOWN_TOPIC = "unknown-topic"
    UNAUTHORIZED = "unauthorized"
    CORRUPT = "corrupt"


NONE = 0
UNKNOWN_TOPIC_OR_PARTITION = 3
LEADER_NOT_AVAILABLE = 5
TOPIC_AUTHORIZATION_FAILED = 29

_CODES: dict[int, tuple[str, Verdict]] = {
    NONE: ("none", Verdict.OK),
    1: ("offset-out-of-range", Verdict.OUT_OF_RANGE),
    2: ("corrupt-message", Verdict.CORRUPT),
    UNKNOWN_TOPIC_OR_PARTITION: ("unknown-topic-or-partition", Verdict.UNKNOWN_TOPIC),
    LEADER_NOT_AVAILABLE: ("leader-not-available", Verdict.MOVED),
    6: ("not-leader-or-follower", Verdict.MOVED),
    7: ("request-timed-out", Verdict.RETRY),
    8: ("broker-not-available", Verdict.MOVED),
    9: ("replica-not-available", Verdict.MOVED),
    13: ("network-exception", Verdict.MOVED),
    17: ("invalid-topic", Verdict.UNKNOWN_TOPIC),
    TOPIC_AUTHORIZATION_FAILED: ("topic-authorization-failed", Verdict.UNAUTHORIZED),
    31: ("cluster-authorization-failed", Verdict.UNAUTHORIZED),
    56: ("kafka-storage-error", Verdict.MOVED),
    74: ("fenced-leader-epoch", Verdict.MOVED),
    75: ("unknown-leader-epoch", Verdict.MOVED),
    78: ("offset-not-available", Verdict.RETRY),
    89: ("throttling-quota-exceeded", Verdict.RETRY),
    100: ("unknown-topic-id", Verdict.UNKNOWN_TOPIC),
    103: ("inconsistent-topic-id", Verdict.UNKNOWN_TOPIC),
    109: ("offset-moved-to-tiered-storage", Verdict.MOVED),
}


def judge(code: int) -> tuple[str, Verdict]:
    """Return name and meaning of an error code. Unknown ones are retried until the range stalls, never ignored."""
    return _CODES.get(code) or (f"error-code-{code}", Verdict.MOVED)
