"""Events of a member, as its reports get them."""

from collections.abc import Mapping, Sequence

from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.report.metrics import CommitStep
from logpersister.storage.errors import StorageError


class Listener:
    """Handlers of events. By default they do nothing."""

    def stored(self, outcomes: Sequence[RangeOutcome]) -> None:
        """Ranges are durable and committed, in one batch of commits."""

    def failed(self, range_: Range, error: WorkError) -> None:
        """A range failed and will be tried again."""

    def bucket_failed(self, error: StorageError) -> None:
        """The bucket failed a request about our own documents or the list of objects; it will be tried again."""

    def lost(self, partition: TopicPartition, start: Offset, end: Offset, *, skipped: bool) -> None:
        """Kafka had deleted records before they were stored."""

    def committing(self, step: CommitStep, seconds: float, failed: Mapping[TopicPartition, Exception]) -> None:
        """A batch of commits was answered."""
