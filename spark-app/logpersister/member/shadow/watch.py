"""The comparison beside the work of a member in shadow mode: what it is made of, and the thread in which it runs."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

import structlog

from logpersister.group.offsets import OffsetReader
from logpersister.kafka_client import client_config
from logpersister.manifest import LogPersister, Spec
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.secrets import Secrets
from logpersister.member.shadow.comparer import ComparedGroup, Comparer
from logpersister.member.shadow.stored_objects import MOST_LISTED, MOST_LISTED_BLINDLY, StoredObjects
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.plain import document
from logpersister.report.shadow import ShadowReport
from logpersister.storage.losses import list_losses
from logpersister.storage.store import open_store

log = structlog.get_logger(__name__)

SHORTEST_SECONDS: Final = 1.0
LONGEST_SECONDS: Final = 15.0
"""Between two comparisons; else comparisons are as often as the member's own requests for end offsets."""
STOP_SECONDS: Final = 10.0
"""How long the thread may take to end; a request to Kafka or S3 that takes longer is left behind."""


class GroupPositions:
    """The committed offsets of one group; for any number of threads."""

    def __init__(self, offsets: OffsetReader) -> None:
        self._offsets = offsets
        self._lock = threading.Lock()

    def committed(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, CommittedOffset | None]:
        """Return the committed offsets; None where there is none. Partitions that Kafka does not tell of are missing.

        Raises UnknownMetadataError, KafkaError.
        """
        with self._lock:
            found = self._offsets.committed(partitions)
        positions: dict[TopicPartition, CommittedOffset | None] = {}
        for partition, committed in found.items():
            if isinstance(committed, UnknownMetadataError):
                raise UnknownMetadataError(f"{partition}: {committed}")
            positions[partition] = committed
        return positions

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Offset]:
        """Return where the partitions end now; those that cannot be read are missing."""
        with self._lock:
            return self._offsets.ends(partitions).values

    def compacted(self, topic: str) -> bool | None:
        """Whether Kafka compacts the topic; None when it does not tell."""
        with self._lock:
            return self._offsets.compacted(topic)

    def close(self) -> None:
        self._offsets.close()


class ShadowWatch:
    """Compares again and again, in a thread of its own, until it is closed."""

    def __init__(
        self,
        comparer: Comparer,
        seconds: float,
        aim: Callable[[Mapping[TopicPartition, Offset]], None],
        show: Callable[[ShadowReport], None],
    ) -> None:
        """`aim` gets how far the shadow should be, `show` what has been compared."""
        self._comparer = comparer
        self._seconds = seconds
        self._aim = aim
        self._show = show
        self._stopped = threading.Event()
        self._reported: tuple[int, str | None] = (0, None)
        self._thread = threading.Thread(target=self._run, name="shadow", daemon=True)

    def start(self) -> None:
        self._report_changes(self._comparer.report())
        self._thread.start()

    def close(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def compare_new(self) -> None:
        """Compare once; what prevents that is reported, and not raised."""
        try:
            self._report_changes(self._comparer.compare_new(self._aim, self._report_changes))
        except Exception as error:
            self._report_changes(self._comparer.report(str(error) or type(error).__name__))

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.compare_new()
            self._stopped.wait(self._seconds)

    def _report_changes(self, report: ShadowReport) -> None:
        self._show(report)
        state = (report.figures.differences, report.error)
        if state == self._reported:
            return
        before, self._reported = self._reported, state
        if report.error is not None and report.error != before[1]:
            log.warning("shadow.not_compared", error=report.error)
        if report.figures.differences > before[0]:
            log.error("shadow.differs", differences=report.figures.differences, **document(report.examples[-1]))


@contextmanager
def comparing(
    resource: LogPersister,
    stable: LogPersister,
    secrets: Secrets,
    owned: Callable[[], Collection[TopicPartition]],
) -> Iterator[Comparer]:
    """Connect to what both groups have stored."""
    same_layout = _layout(resource.spec) == _layout(stable.spec)
    of_stable = stable_storage(resource.spec.storage, stable.spec.storage)
    with ExitStack() as stack:
        yield Comparer(
            _compared_group(stable, of_stable, secrets, stack, MOST_LISTED if same_layout else MOST_LISTED_BLINDLY),
            _compared_group(resource, resource.spec.storage, secrets, stack, MOST_LISTED_BLINDLY),
            owned,
            same_layout=same_layout,
            quarantines_late=any(one.quarantines_late for of in (resource, stable) for one in of.spec.variants()),
            remark=remark_on(resource, stable),
        )


def stable_storage(own: StorageSpec, stable: StorageSpec) -> StorageSpec:
    """Return how the stable group's bucket is read: as our own if it is the same, else as its manifest says."""
    if (own.endpoint, own.bucket) == (stable.endpoint, stable.bucket):
        return own.model_copy(update={"prefix": stable.prefix})
    return stable


def remark_on(resource: LogPersister, stable: LogPersister) -> str:
    """Return what has to be said with each difference: that both do not read or keep the same."""
    ours, theirs = resource.spec.kafka.isolation_level, stable.spec.kafka.isolation_level
    told = "" if ours == theirs else f" (isolationLevel is {theirs} there, {ours} here)"
    return told if _kept(resource.spec) == _kept(stable.spec) else f"{told} (both leave out other records)"


def seconds_between(resource: LogPersister) -> float:
    """Return how long to wait between two comparisons."""
    return min(LONGEST_SECONDS, max(SHORTEST_SECONDS, resource.spec.cycle_interval.total_seconds()))


def _layout(spec: Spec) -> object:
    """Return all that the partition path of a record depends on, except for the record."""
    of_topics = [(one.topics, one.topic_pattern) for one in spec.overrides]
    return of_topics, [(one.output.partition_by, one.parser, one.row_schema, one.types) for one in spec.variants()]


def _kept(spec: Spec) -> object:
    rules = [one.type_rules for one in spec.variants()]
    of_types = [[(rule.action == "drop", rule.keep) for rule in some] for some in rules]
    return [one.keep for one in spec.variants()], of_types


def _compared_group(
    resource: LogPersister, storage: StorageSpec, secrets: Secrets, stack: ExitStack, most: int
) -> ComparedGroup:
    progress = GroupPositions(OffsetReader.of(resource, client_config(resource.spec.kafka, secrets)))
    stack.callback(progress.close)
    store = stack.enter_context(open_store(storage, secrets))
    variants = resource.spec.variants()
    stored_objects = StoredObjects(
        store,
        resource.group_id,
        in_folders=any(one.has_folders for one in variants),
        most=most,
        has_quarantine=any(one.has_quarantine for one in variants),
        has_late_folders=any(one.late == "folder" for one in variants),
    )
    return ComparedGroup(
        resource.spec.generation, progress, stored_objects, lambda: list(list_losses(store, resource.group_id))
    )
