"""Events of a member, as its reports get them."""

from collections.abc import Mapping, Sequence

from logpersister.pipeline.work import RangeOutcome, WorkError
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.report.duties import DutyReport
from logpersister.report.finish import FinishReport, TellingReport
from logpersister.report.metrics import CommitStep
from logpersister.storage.errors import StorageError
from logpersister.tables.duty import TableListener


class Listener(TableListener):
    """Handlers of events. By default they do nothing. Those of duties are called from any thread."""

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

    # duties

    def duty(self, report: DutyReport) -> None:
        """Where a duty stands now."""

    def performed(self, duty: str, topic: str, seconds: float, error: Exception | None) -> None:
        """One attempt for one topic has ended, perhaps by an error."""

    def finish(self, report: FinishReport) -> None:
        """Where this member stands with finished folders."""

    def folder_finished(self, topic: str, *, guessed: bool) -> None:
        """A folder was finished; `guessed`: not each partition has a record that proves that it is over."""

    def late(self, topic: str, records: int) -> None:
        """Records came into a folder that was finished before."""

    def telling(self, report: TellingReport) -> None:
        """Where the notifications of a policy stand."""

    def told(self, policy: str, topic: str, folders: int, refused: int) -> None:
        """Notifications of a topic were accepted and refused."""
