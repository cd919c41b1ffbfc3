"""Spark: jobs that go on whatever happens to the member, one step at a time, whenever the world lets them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future

from logpersister.manifest.revisions.revision import output_schema_of
from logpersister.pipeline.work import RangeOutcome, RangeWork, RevisionWork, TaskSpec, WorkError
from logpersister.ranges import NewestEvent, Offset, Range
from logpersister.report.facts import WrittenObject
from logpersister.storage.errors import StorageError
from tests.model.bucket import Bucket
from tests.model.chronicle import Chronicle
from tests.model.decisions import Decisions
from tests.model.kafka import Kafka
from tests.model.ledger import Identity, ObjectKey, StoredObject, event_time, is_late, is_refused
from tests.model.registry import Registry
from tests.model.rules import Rules

OFFSETS_PER_FOLDER = 2
QUARANTINE = "_quarantine"
Records = frozenset[tuple[str, Offset]]


class Outcomes(Future[list[RangeOutcome]]):
    """What a job gives back; tells when somebody takes it."""

    def __init__(self, noted: Callable[[object], object]) -> None:
        super().__init__()
        self._noted = noted
        self.taken = False

    def result(self, timeout: float | None = None) -> list[RangeOutcome]:
        outcomes = super().result(timeout)
        self.taken = True
        self._noted(tuple(outcomes))
        return outcomes

    def peek(self) -> list[RangeOutcome]:
        """Return the outcomes without taking them."""
        return super().result()


class Job:
    """A Spark job. Its tasks read a range, then put its objects."""

    def __init__(
        self,
        name: str,
        kafka: Kafka,
        bucket: Bucket,
        registry: Registry,
        chronicle: Chronicle,
        rules: Rules,
        tasks: Sequence[TaskSpec],
        bytes_per_record: int,
        outcomes: Outcomes,
    ) -> None:
        self.name = name
        self.future = outcomes
        self._bytes_per_record = bytes_per_record
        self._kafka, self._bucket, self._chronicle, self._rules = kafka, bucket, chronicle, rules
        self._registry = registry
        self._outcomes: list[RangeOutcome] = []
        self.work = [(part, item) for task in tasks for part in task.parts for item in part.work]
        self._reads_backup = any(task.source is not None for task in tasks)
        self.history: list[object] = []
        """What it has seen: its state follows from that."""
        self._steps = self._run()
        if not rules.upload_before_outcome:
            self.future.set_result([RangeOutcome(item.range) for _, item in self.work])

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
        """Read and write range by range; every step but the last ends with all that it has read in memory."""
        for part, item in self.work:
            read = self._read(item)
            self.history.append(read)
            if isinstance(read, WorkError):
                self._end(item, (), read)
            else:
                yield from self._write(part, item, read)
            yield

    def _write(self, of: RevisionWork, item: RangeWork, records: Records) -> Iterator[None]:
        written: list[WrittenObject] = []
        storage = of.document["spec"]["storage"]
        pinned = output_schema_of(of.document)
        # Who was promised no schema can only take the latest.
        schema = self._registry.latest(item.range.partition.topic) if pinned is None else pinned.version
        self.history.append(schema)
        parser, horizon = "json" in of.document["spec"].get("value", {}), item.horizon if _tells_late(of) else None
        for path, part in _by_path(of, records, schema if parser else None, horizon):
            yield  # the process may stand still here, with all records in its memory
            clock = 0.0 if self._rules.names_without_clock else self._chronicle.time
            key = ObjectKey(item.range.partition, item.generation, item.range.start, path, storage["prefix"], clock)
            stored = StoredObject(item.range.end, of.revision, item.topic_id or "", part, schema, parser, horizon)
            try:
                self._bucket.put(self.name, key, stored, keys=storage.get("secretName"), if_absent=item.partly_lost)
            except StorageError as error:
                self._end(item, (), WorkError(error.kind, str(error), upload=True))
                return
            written.append(WrittenObject(str(key), self._bytes_per_record * len(part), len(part)))
            self.history.append(path)
        self._end(item, tuple(written), None, _newest(records))

    def _read(self, item: RangeWork) -> Records | WorkError:
        partition = item.range.partition
        identity = self._kafka.identity(partition)
        if self._rules.jobs_check_the_topic and item.topic_id != identity.topic_id:
            return WorkError("topic-recreated", f"{partition} is of another topic")
        log = self._kafka.history[Identity(partition, identity.topic_id)]
        if item.read_from < log.start and self._reads_backup:
            if hole := _hole(item, log.start):
                return WorkError("hole", f"no object of the backup has {hole}")
        elif item.read_from < log.start:
            return WorkError("data-lost", f"{partition} begins at {log.start}", log_start=log.start)
        if item.range.end > log.end:
            return WorkError("kafka", f"{partition} ends at {log.end}")
        offsets = (offset for offset in log.offsets if item.read_from <= offset < item.range.end)
        return frozenset((identity.topic_id, offset) for offset in offsets)

    def _end(
        self,
        item: RangeWork,
        written: tuple[WrittenObject, ...],
        error: WorkError | None,
        newest: NewestEvent | None = None,
    ) -> None:
        self._outcomes.append(RangeOutcome(item.range, written, error=error, newest=newest))
        self.history.append(error)
        self._chronicle.tell(self.name, "{} {}", item.range, f"failed: {error.message}" if error else "is stored")


def _hole(item: RangeWork, log_start: Offset) -> Range | None:
    """Return what Kafka has deleted of a range and no backup has, as `pipeline.source` does."""
    start, end = item.range.start, min(item.range.end, log_start)
    return Range(item.range.partition, start, end) if item.backup is None else item.backup.first_hole(start, end)


def _newest(records: Records) -> NewestEvent | None:
    times = [event_time(offset) for _, offset in records]
    return NewestEvent("0" * 8, max(times)) if times else None


def _tells_late(of: RevisionWork) -> bool:
    return "finish" in of.document["spec"]


def _by_path(
    of: RevisionWork, records: Records, parsed_by: int | None, horizon: int | None
) -> list[tuple[str, Records]]:
    """Spread records over the partition paths that the revision of the intent asks for, and quarantine.

    Args:
        of: the revision.
        records: of a range.
        parsed_by: version of the schema by which a parser reads them; None: there is no parser.
        horizon: by which late records are told apart; None: none is late.
    """
    refused = frozenset(r for r in records if parsed_by is not None and is_refused(r[1], parsed_by))
    folders = _by_time(records - refused, horizon) if _tells_late(of) else _by_offset(of, records - refused)
    return [(path, part) for path, part in (*folders, (QUARANTINE, refused)) if part]


def _by_time(records: Records, horizon: int | None) -> list[tuple[str, Records]]:
    folders: dict[str, set[tuple[str, Offset]]] = {}
    for topic_id, offset in records:
        path = f"{'_late/' if is_late(offset, horizon) else ''}t={event_time(offset)}"
        folders.setdefault(path, set()).add((topic_id, offset))
    return [(path, frozenset(some)) for path, some in sorted(folders.items())]


def _by_offset(of: RevisionWork, records: Records) -> list[tuple[str, Records]]:
    if not of.document["spec"].get("output", {}).get("partitionBy"):
        return [("", records)]
    folders = {offset // OFFSETS_PER_FOLDER * OFFSETS_PER_FOLDER for _, offset in records}
    return [
        (f"offset={folder}", frozenset(r for r in records if folder <= r[1] < folder + OFFSETS_PER_FOLDER))
        for folder in sorted(folders)
    ]


class Spark:
    """Runs the jobs of all members."""

    def __init__(
        self,
        kafka: Kafka,
        bucket: Bucket,
        registry: Registry,
        chronicle: Chronicle,
        rules: Rules,
        decisions: Decisions,
    ) -> None:
        self._make: Callable[[str, Sequence[TaskSpec], Outcomes], Job] = lambda name, tasks, outcomes: Job(
            name, kafka, bucket, registry, chronicle, rules, tasks, decisions.bytes_per_record("job"), outcomes
        )
        self._chronicle = chronicle
        self._numbers = iter(range(1, 1 << 30))
        self.running: list[tuple[str, Job]] = []
        """With the member that submitted it."""
        self.ended: list[tuple[str, Outcomes]] = []
        """In their order, those too that nobody has taken yet."""

    def submit(self, member: str, tasks: Sequence[TaskSpec], noted: Callable[[object], object]) -> Outcomes:
        outcomes = Outcomes(noted)
        job = self._make(f"job-{next(self._numbers)}", tasks, outcomes)
        ranges = ", ".join(f"{item.range}{'*' if item.again else ''}" for task in tasks for item in task.work)
        revisions = ", ".join(sorted({part.revision for task in tasks for part in task.parts}))
        self._chronicle.tell(member, "starts {}: {} (revisions {})", job.name, ranges, revisions)
        self.running.append((member, job))
        return outcomes

    def advance(self, index: int) -> None:
        """Let one of the running jobs do one step."""
        member, job = self.running[index]
        if job.advance():
            del self.running[index]
            self.ended = [(owner, future) for owner, future in self.ended if not future.taken]
            self.ended.append((member, job.future))

    def not_taken(self, member: str) -> list[Outcomes]:
        """Return what jobs of a member have given back and it has not looked at, in their order."""
        return [future for owner, future in self.ended if owner == member and not future.taken]

    def kill(self, member: str | None = None) -> None:
        """End the jobs of a member, or all."""
        self.running = [(owner, job) for owner, job in self.running if member is not None and owner != member]
