"""Spark: jobs that go on whatever happens to the member, one step at a time, whenever the world lets them."""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

from logpersister.pipeline.work import ObjectWritten, RangeOutcome, RangeWork, TaskSpec, WorkError
from logpersister.ranges import Offset
from logpersister.storage.errors import StorageError
from tests.model.bucket import Bucket
from tests.model.chronicle import Chronicle
from tests.model.kafka import Kafka
from tests.model.ledger import Identity, ObjectKey, StoredObject
from tests.model.rules import Rules

BYTES_PER_RECORD = (12_000, 20_000, 40_000)
"""With `maxBytes` of 64 KiB: a range has one to five records. Nobody cuts a backlog twice in the same way."""
OFFSETS_PER_FOLDER = 2


class Job:
    """A Spark job. Its tasks read a range, then put its objects."""

    def __init__(
        self,
        name: str,
        kafka: Kafka,
        bucket: Bucket,
        chronicle: Chronicle,
        rules: Rules,
        tasks: Sequence[TaskSpec],
        bytes_per_record: int,
    ) -> None:
        self.name = name
        self._bytes_per_record = bytes_per_record
        self.future: Future[list[RangeOutcome]] = Future()
        self._kafka, self._bucket, self._chronicle, self._rules = kafka, bucket, chronicle, rules
        self._outcomes: list[RangeOutcome] = []
        self._work = [(task, item) for task in tasks for item in task.work]
        self._steps = self._run()
        if not rules.upload_before_outcome:
            self.future.set_result([RangeOutcome(item.range) for _, item in self._work])

    def advance(self) -> bool:
        """Do the next step; return whether the job has ended."""
        try:
            next(self._steps)
        except StopIteration:
            if not self.future.done():
                self.future.set_result(self._outcomes)
            return True
        return False

    def _run(self) -> Iterator[None]:
        for task, item in self._work:
            yield
            read = self._read(item)
            if isinstance(read, WorkError):
                self._end(item, (), read)
                continue
            yield from self._write(task, item, read)

    def _write(self, task: TaskSpec, item: RangeWork, records: frozenset[tuple[str, Offset]]) -> Iterator[None]:
        written: list[ObjectWritten] = []
        for path, part in _by_path(task, records):
            yield  # the process may stand still here, with all records in its memory
            clock = 0.0 if self._rules.names_without_clock else self._chronicle.time
            key = ObjectKey(item.range.partition, item.generation, item.range.start, path, clock)
            stored = StoredObject(item.range.end, task.revision, item.topic_id or "", part)
            try:
                self._bucket.put(self.name, key, stored, if_absent=item.partly_lost)
            except StorageError as error:
                self._end(item, (), WorkError("unreachable", str(error), upload=True))
                return
            written.append(ObjectWritten(str(key), self._bytes_per_record * len(part), len(part)))
        self._end(item, tuple(written), None)

    def _read(self, item: RangeWork) -> frozenset[tuple[str, Offset]] | WorkError:
        partition = item.range.partition
        identity = self._kafka.identity(partition)
        if self._rules.jobs_check_the_topic and item.topic_id != identity.topic_id:
            return WorkError("topic-recreated", f"{partition} is of another topic")
        log = self._kafka.history[Identity(partition, identity.topic_id)]
        if item.read_from < log.start:
            return WorkError("data-lost", f"{partition} begins at {log.start}", log_start=log.start)
        if item.range.end > log.end:
            return WorkError("kafka", f"{partition} ends at {log.end}")
        offsets = (offset for offset in log.offsets if item.read_from <= offset < item.range.end)
        return frozenset((identity.topic_id, offset) for offset in offsets)

    def _end(self, item: RangeWork, written: tuple[ObjectWritten, ...], error: WorkError | None) -> None:
        self._outcomes.append(RangeOutcome(item.range, written, error=error))
        self._chronicle.tell(self.name, "{} {}", item.range, f"failed: {error.message}" if error else "is stored")


def _by_path(task: TaskSpec, records: frozenset[tuple[str, Offset]]) -> list[tuple[str, frozenset[tuple[str, Offset]]]]:
    """Spread records over the partition paths that the revision of the intent asks for."""
    if not task.revision_document["spec"]["output"].get("partitionBy"):
        return [("", records)] if records else []
    folders = {offset // OFFSETS_PER_FOLDER * OFFSETS_PER_FOLDER for _, offset in records}
    return [
        (f"offset={folder}", frozenset(r for r in records if folder <= r[1] < folder + OFFSETS_PER_FOLDER))
        for folder in sorted(folders)
    ]


class Spark:
    """Runs the jobs of all members."""

    def __init__(self, kafka: Kafka, bucket: Bucket, chronicle: Chronicle, rules: Rules, source: random.Random) -> None:
        self._make: Callable[[str, Sequence[TaskSpec]], Job] = lambda name, tasks: Job(
            name, kafka, bucket, chronicle, rules, tasks, source.choice(BYTES_PER_RECORD)
        )
        self._random = source
        self._chronicle = chronicle
        self._numbers = iter(range(1, 1 << 30))
        self.running: list[tuple[str, Job]] = []
        """With the member that submitted it."""

    def submit(self, member: str, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]":
        job = self._make(f"job-{next(self._numbers)}", tasks)
        ranges = ", ".join(f"{item.range}{'*' if item.again else ''}" for task in tasks for item in task.work)
        self._chronicle.tell(member, "starts {}: {} (revision {})", job.name, ranges, tasks[0].revision)
        self.running.append((member, job))
        return job.future

    def advance(self) -> None:
        """Let one job do one step."""
        if self.running:
            index = self._random.randrange(len(self.running))
            if self.running[index][1].advance():
                del self.running[index]

    def kill(self, member: str | None = None) -> None:
        """End the jobs of a member, or all."""
        self.running = [(owner, job) for owner, job in self.running if member is not None and owner != member]


class Jobs:
    """Spark as one member sees it."""

    cores = 2

    def __init__(self, spark: Spark, member: str) -> None:
        self._spark, self._member = spark, member

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]":
        return self._spark.submit(self._member, tasks)


class Sampler:
    """Has an idea of the size of records from the start."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def sample(self, partition: object, start: Offset) -> tuple[int, int] | None:
        return 1, self._random.choice(BYTES_PER_RECORD)
