"""A simulated world for the production cycle: brokers, a group, a bucket and Spark jobs, in memory, driven by a seed.

Nothing of the planner, the intents or the cycle is simulated: members run `logpersister.member.cycle.Cycle` itself. The
world only decides what happens next, and fails, delays and forgets as the real one does.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from logpersister.group.answers import Answer, CommitOutcome, TopicDescription
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.revision import Revision, revision_of
from logpersister.member import ports
from logpersister.member.cycle import Cycle
from logpersister.pipeline.work import ObjectWritten, RangeOutcome, RangeWork, TaskSpec, WorkError
from logpersister.plan.book import Commit
from logpersister.plan.intents import Committed, UnknownMarkError
from logpersister.plan.intents import parse as parse_commit
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.facts import ForeignObjectError

TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
BYTES_PER_OFFSET = 20_000
"""With `maxBytes` of 64 KiB: a range has about three offsets."""


@dataclass
class Log:
    """One partition: offsets with gaps."""

    start: Offset = 0
    end: Offset = 0
    offsets: list[Offset] = field(default_factory=list)

    def append(self, random_source: random.Random) -> None:
        if random_source.random() < 0.8:  # otherwise a gap: a marker, or an aborted record
            self.offsets.append(self.end)
        self.end += 1


@dataclass(frozen=True)
class ObjectKey:
    partition: TopicPartition
    generation: int
    start: Offset
    path: int


@dataclass(frozen=True)
class Object:
    end: Offset
    revision: str
    offsets: frozenset[Offset]


class World:
    """Kafka's partitions and group state, the bucket, and the members' view of both."""

    def __init__(self, seed: int, partitions: int = 3, paths: int = 2) -> None:
        self.random = random.Random(seed)
        self.paths = paths
        self.logs = {TopicPartition("clicks", index): Log() for index in range(partitions)}
        self.commits: dict[TopicPartition, tuple[Offset, str]] = {}
        self.first: dict[TopicPartition, Offset] = {}
        self.bucket: dict[ObjectKey, Object] = {}
        self.revisions: dict[str, Mapping[str, Any]] = {}
        self.group_generation = 0
        self.assignment: dict[str, set[TopicPartition]] = {}
        self.members: dict[str, Member] = {}
        self.jobs: list[JobRun] = []
        self.time = 1000.0
        self.names = iter(range(1, 1 << 30))

    # what happens

    def produce(self) -> None:
        log = self.random.choice(list(self.logs.values()))
        for _ in range(self.random.randint(1, 12)):
            log.append(self.random)

    def join(self, manifest_change: int = 0) -> "Member":
        name = f"member-{next(self.names)}"
        self.members[name] = Member(self, name, manifest_change)
        self.rebalance()
        return self.members[name]

    def crash(self, name: str, *, tasks_survive: bool) -> None:
        """kill -9: the process is gone; its tasks may go on as zombies for as long as they like."""
        del self.members[name]
        if not tasks_survive:
            self.jobs = [job for job in self.jobs if job.member != name]
        self.rebalance()

    def expel(self, name: str) -> None:
        """The group goes on without a member that is paused; it does not know and may wake up at any time."""
        self.rebalance(without=name)

    def rebalance(self, without: str | None = None) -> None:
        """Move partitions at random. Members that are told have their revocation before anyone has an assignment."""
        self.group_generation += 1
        told = [name for name in self.members if name != without]
        shares: dict[str, set[TopicPartition]] = {name: set() for name in told}
        for partition in self.logs:
            if told:
                shares[self.random.choice(told)].add(partition)
        self.assignment = shares
        for name in told:
            self.members[name].group.told(self.group_generation, shares[name])

    def step(self) -> None:
        """Do one thing, chosen at random."""
        self.time += self.random.random()
        choices: list[tuple[float, Any]] = [(3, self.produce), (8, self.turn), (8, self.advance_job)]
        choices += [
            (0.1, self.forget_offsets),
            (0.3, self.rebalance),
            (0.3, self.crash_random),
            (0.3, self.expel_random),
            (0.4, self.join_if_few),
        ]
        weights = [weight for weight, _ in choices]
        self.random.choices([action for _, action in choices], weights)[0]()

    def turn(self) -> None:
        if self.members:
            self.random.choice(list(self.members.values())).turn()

    def advance_job(self) -> None:
        if self.jobs:
            job = self.random.choice(self.jobs)
            if job.advance():
                self.jobs.remove(job)

    def crash_random(self) -> None:
        if len(self.members) > 1:
            self.crash(self.random.choice(list(self.members)), tasks_survive=self.random.random() < 0.5)

    def expel_random(self) -> None:
        if len(self.members) > 1:
            self.expel(self.random.choice(list(self.members)))

    def forget_offsets(self) -> None:
        """Kafka forgets an idle group: everything has died, the zombies too, before a member comes."""
        self.members.clear()
        self.jobs.clear()
        self.commits.clear()
        self.join()

    def join_if_few(self) -> None:
        if len(self.members) < 3:
            self.join(self.random.randint(0, 1))

    def settle(self) -> None:
        """Let everything come to rest: no faults, all members told, until every record is stored."""
        if not self.members:
            self.join()
        self.rebalance()
        for _ in range(5000):
            self.time += 1.0
            for member in list(self.members.values()):
                member.turn()
            while self.jobs:
                self.advance_job()
            if all(self.position(partition) == log.end for partition, log in self.logs.items()):
                return
        raise AssertionError(f"never current: {self.commits} of {self.logs}")

    # what must hold

    def position(self, partition: TopicPartition) -> Offset:
        return self.commits[partition][0] if partition in self.commits else 0

    def check(self) -> None:
        """Every record between the first and the committed offset is in exactly one object."""
        held: dict[tuple[TopicPartition, Offset], list[ObjectKey]] = {}
        for key, stored in self.bucket.items():
            for offset in stored.offsets:
                held.setdefault((key.partition, offset), []).append(key)
        for partition, log in self.logs.items():
            position = self.position(partition)
            for offset in log.offsets:
                copies = held.get((partition, offset), [])
                if offset < position and len(copies) != 1:
                    raise AssertionError(
                        f"{partition}@{offset} (committed {position}) is in {len(copies)} objects: {copies}"
                    )
                if len(copies) > 1:
                    raise AssertionError(f"{partition}@{offset} is stored twice: {copies}")

    def path_of(self, offset: Offset) -> int:
        return (offset // 3) % self.paths


class FakeGroup:
    """The group as one member sees it: fencing by generation as the broker does it, tokens as `Membership` does."""

    def __init__(self, world: World, name: str) -> None:
        self._world = world
        self._name = name
        self._generation = 0
        self._tokens: dict[TopicPartition, int] = {}
        self._next = iter(range(1, 1 << 30))

    def told(self, generation: int, share: set[TopicPartition]) -> None:
        expelled = generation != self._generation + 1 and self._generation != 0
        kept = set() if expelled else share & self._tokens.keys()
        self._generation = generation
        self._tokens = {p: self._tokens[p] for p in kept} | {p: next(self._next) for p in share - kept}

    def ownership(self) -> dict[TopicPartition, int]:
        return dict(self._tokens)

    def hold_on_to(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        return {p for p, token in partitions.items() if self._tokens.get(p) == token}

    def let_go(self, partitions: Iterable[TopicPartition]) -> None:
        for _ in partitions:
            pass

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        outcome = CommitOutcome()
        for partition, commit in commits.items():
            if self._tokens.get(partition) != commit.token:
                outcome.refused.add(partition)
                continue
            fate = self._world.random.random()
            if self._generation != self._world.group_generation:
                outcome.failed[partition] = RuntimeError("illegal generation")
            elif fate < 0.05:
                outcome.failed[partition] = TimeoutError("before it arrived")
            else:
                self._apply(partition, commit.committed)
                if fate < 0.1:
                    outcome.failed[partition] = TimeoutError("the answer was lost")
                else:
                    outcome.committed.add(partition)
        return outcome

    def _apply(self, partition: TopicPartition, committed: Committed) -> None:
        assert committed.mark is not None
        self._world.commits[partition] = (committed.offset, committed.mark.text())


class FakeOffsets:
    def __init__(self, world: World) -> None:
        self._world = world

    def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed | UnknownMarkError | None]:
        commits = self._world.commits
        return {p: parse_commit(*commits[p]) if p in commits else None for p in partitions}

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer({p: self._world.logs[p].start for p in partitions})

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return Answer({p: self._world.logs[p].end for p in partitions})

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        return Answer(dict.fromkeys(timestamps))

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        leaders = dict.fromkeys(range(len(self._world.logs)), 1)
        return {topic: TopicDescription(TOPIC_ID, leaders) for topic in topics}


class FakeMemory:
    def __init__(self, world: World) -> None:
        self._world = world

    def tails(
        self, partitions: Iterable[TopicPartition], generation: int, most: int
    ) -> dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError]:
        tails: dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError] = {}
        for partition in partitions:
            found = {
                key.start: StoredRange(
                    key.start, stored.end, "backup", stored.revision, TOPIC_ID, whole=self._world.paths == 1
                )
                for key, stored in self._world.bucket.items()
                if key.partition == partition and key.generation == generation
            }
            tails[partition] = [found[start] for start in sorted(found)][-most:]
        return tails

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        self._world.revisions[revision] = document

    def revision(self, revision: str) -> Mapping[str, Any] | None:
        return self._world.revisions.get(revision)

    def record_loss(
        self, partition: TopicPartition, topic_id: str | None, start: Offset, end: Offset, cause: str
    ) -> None:
        raise AssertionError("nothing is lost in this world")


class FakeSampler:
    def sample(self, partition: TopicPartition, start: Offset) -> tuple[int, int] | None:
        return 1, BYTES_PER_OFFSET


class JobRun:
    """A Spark job: writes its objects one at a time, whenever the world lets it."""

    def __init__(self, world: World, member: str, tasks: Sequence[TaskSpec]) -> None:
        self.member = member
        self.future: Future[list[RangeOutcome]] = Future()
        self._world = world
        self._outcomes: list[RangeOutcome] = []
        self._steps = self._run([(task, work) for task in tasks for work in task.work])

    def advance(self) -> bool:
        """Do the next step; return whether the job has ended."""
        try:
            next(self._steps)
        except StopIteration:
            self.future.set_result(self._outcomes)
            return True
        return False

    def _run(self, work: Sequence[tuple[TaskSpec, RangeWork]]) -> Iterator[None]:
        for task, item in work:
            yield
            fails = self._world.random.random() < 0.1
            log = self._world.logs[item.range.partition]
            written: list[ObjectWritten] = []
            by_path: dict[int, set[Offset]] = {}
            for offset in log.offsets:
                if item.range.start <= offset < item.range.end:
                    by_path.setdefault(self._world.path_of(offset), set()).add(offset)
            for path, offsets in sorted(by_path.items()):
                if fails and self._world.random.random() < 0.5:
                    break
                key = ObjectKey(item.range.partition, item.generation, item.range.start, path)
                self._world.bucket[key] = Object(item.range.end, task.revision, frozenset(offsets))
                written.append(ObjectWritten(str(key), BYTES_PER_OFFSET * len(offsets), len(offsets)))
                yield
            error = WorkError("timeout", "S3 did not answer", upload=True) if fails else None
            self._outcomes.append(RangeOutcome(item.range, () if fails else tuple(written), error=error))


class FakeJobs:
    cores = 2

    def __init__(self, world: World, member: str) -> None:
        self._world = world
        self._member = member

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]":
        job = JobRun(self._world, self._member, tasks)
        self._world.jobs.append(job)
        return job.future


class Member:
    """A member process: the production cycle over the simulated world."""

    def __init__(self, world: World, name: str, manifest_change: int) -> None:
        resource = manifest(manifest_change)
        self.group = FakeGroup(world, name)
        self.cycle = Cycle(
            resource,
            revision(resource),
            ports.World(self.group, FakeOffsets(world), FakeMemory(world), FakeJobs(world, name), FakeSampler()),
            clock=lambda: world.time,
            now=lambda: world.time,
        )

    def turn(self) -> None:
        self.cycle.turn()


def revision(resource: LogPersister) -> Revision:
    return revision_of(resource, "1.0")


def manifest(change: int) -> LogPersister:
    """Two manifests of one generation: of different revisions, with the same names of objects."""
    return parse(
        {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": "backup"},
            "spec": {
                "kafka": {"bootstrapServers": "127.0.0.1:9092", "topics": ["clicks"]},
                "storage": {"bucket": "logs", "prefix": "raw"},
                "upload": {"maxBytes": "64Ki", "maxAge": f"{2 + change}s"},
                "cycleInterval": "1s",
            },
        }
    )
