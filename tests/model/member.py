"""A member process: the production cycle with the production ownership, and kafka-python's side of the group.

As in a real process, the group's callbacks run beside the cycle: while a turn stands still in the middle, partitions
may come and go.
"""

import random
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from logpersister.group.answers import Answer, CommitOutcome, TopicDescription
from logpersister.group.ownership import Ownership
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.revision import Revision, revision_of
from logpersister.member import ports
from logpersister.member.cycle import Cycle
from logpersister.plan.book import Commit
from logpersister.plan.intents import Committed, UnknownMarkError
from logpersister.plan.intents import parse as parse_commit
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.errors import StorageError
from tests.model.bucket import GROUP, Bucket, BucketMemory
from tests.model.chronicle import Chronicle, Violation
from tests.model.jobs import OFFSETS_PER_FOLDER, Jobs, Sampler, Spark
from tests.model.kafka import TOPICS, Coordinator, Kafka
from tests.model.processes import Process
from tests.model.rules import Rules

GRACE_SECONDS = 4.0
LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Manifest:
    """What differs between the manifests of one group."""

    generation: int = 1
    folders: bool = False
    """Partition paths: a range becomes several objects. Another layout is another revision, not another generation."""
    on_data_loss: str = "fail"

    @lru_cache(maxsize=64)  # noqa: B019 - a handful of frozen manifests
    def resource(self) -> tuple[LogPersister, Revision]:
        output = {"partitionBy": [{"offset": {"every": OFFSETS_PER_FOLDER}}]} if self.folders else {"partitionBy": []}
        resource = parse(
            {
                "apiVersion": "logpersister.dev/v1alpha1",
                "kind": "LogPersister",
                "metadata": {"name": GROUP},
                "spec": {
                    "generation": self.generation,
                    "kafka": {
                        "bootstrapServers": "127.0.0.1:9092",
                        "topics": sorted(TOPICS),
                        "onDataLoss": self.on_data_loss,
                    },
                    "storage": {"bucket": "logs", "prefix": "raw"},
                    "output": output,
                    "upload": {"maxBytes": "64Ki", "maxAge": "2s"},
                    "cycleInterval": "1s",
                },
            }
        )
        return resource, revision_of(resource, "1.0")


@dataclass
class Surroundings:
    """Everything that a member lives in."""

    kafka: Kafka
    coordinator: Coordinator
    bucket: Bucket
    spark: Spark
    chronicle: Chronicle
    rules: Rules
    random: random.Random
    restlessness: float = 0.2
    """How likely a turn stands still at a place where it waits for the network."""
    slow_commits: float = 0.0
    """The same for commits, where it is more."""
    hanging: float = 0.15
    """How likely that takes long."""
    unreliability: float = 0.05
    """How likely an answer of Kafka is lost."""


class Phase(Enum):
    """Where kafka-python stands in its group protocol."""

    OUT = "out"
    JOINING = "joining"
    REVOKING = "revoking"
    GIVING_UP = "giving up"
    STABLE = "stable"


class Client:
    """kafka-python's coordinator with our listener, as `group/membership.py` uses it."""

    def __init__(self, name: str, around: Surroundings) -> None:
        self.name = name
        self.ownership = Ownership()
        self._around = around
        self._incarnation = 0
        self._phase = Phase.OUT
        self.generation = -1
        self._share: set[TopicPartition] = set()
        self._given_last: set[TopicPartition] = set()
        self._deadline = 0.0

    @property
    def member_id(self) -> str:
        return f"{self.name}.{self._incarnation}"

    @property
    def may_commit(self) -> bool:
        """Whether kafka-python sends commits: while it joins, it does not."""
        return self._phase in (Phase.STABLE, Phase.REVOKING, Phase.GIVING_UP)

    def proceed(self) -> None:
        """Do the next step that the client's I/O thread would do."""
        known = self.member_id in self._around.coordinator.known
        match self._phase:
            case Phase.OUT:
                self._join_anew()
            case Phase.JOINING if not known:
                self.expelled()
            case Phase.JOINING:
                self._sync()
            case Phase.REVOKING:
                self._revoke()
            case Phase.GIVING_UP:
                self._give_up()
            case Phase.STABLE if not known:
                self.expelled()
            case Phase.STABLE if self._around.coordinator.rebalancing:
                self._join()

    def expelled(self) -> None:
        """The broker does not know this member any more, and has said so."""
        if self._phase is Phase.JOINING and not self._around.rules.losses_are_told:
            self._incarnation += 1
            self._join()
            return
        self._around.chronicle.tell(self.name, "hears that it was expelled")
        self.generation = -1
        self._phase = Phase.OUT

    def _join_anew(self) -> None:
        lost = set(self.ownership.tokens())
        if lost:
            self._tell("lost", lost)
            self.ownership.lose(lost)
        if self._around.rules.revocation_waits_for_commits and self.ownership.is_committing():
            return
        self._incarnation += 1
        self._join()

    def _join(self) -> None:
        owned = set(self.ownership.tokens())
        claims = owned if self._around.rules.true_claims else owned | self._given_last
        self._around.coordinator.join(self.member_id, claims)
        self._phase = Phase.JOINING

    def _sync(self) -> None:
        answer = self._around.coordinator.answers.get(self.member_id)
        if answer is None:
            return
        self.generation, share = answer
        self._share, self._given_last = set(share), set(share)
        revoked = self.ownership.tokens().keys() - share
        if not revoked:
            self._gain()
            self._phase = Phase.STABLE
            return
        self._tell("has to give up", revoked)
        self.ownership.begin_revocation(set(revoked))
        self._deadline = self._around.chronicle.time + GRACE_SECONDS
        self._phase = Phase.REVOKING

    def _revoke(self) -> None:
        revoked = self.ownership.tokens().keys() - self._share
        if self.ownership.is_busy(set(revoked)) and self._around.chronicle.time < self._deadline:
            return
        self._tell("gives up", revoked)
        self.ownership.lose(set(revoked))
        self._phase = Phase.GIVING_UP

    def _give_up(self) -> None:
        if self._around.rules.revocation_waits_for_commits and self.ownership.is_committing():
            return
        self._gain()
        self._phase = Phase.STABLE
        self._around.coordinator.rebalance()

    def _gain(self) -> None:
        added = self._share - self.ownership.tokens().keys()
        if added:
            self._tell("is given", added)
            self.ownership.gain(sorted(added))

    def _tell(self, what: str, partitions: Iterable[TopicPartition]) -> None:
        self._around.chronicle.tell(self.name, "{} {}", what, ", ".join(map(str, sorted(partitions))))


class GroupPort:
    """`group.membership.Membership` as the cycle sees it."""

    def __init__(self, member: "Member", client: Client, around: Surroundings) -> None:
        self._member, self._client, self._around = member, client, around
        self.ownership = client.ownership.tokens
        self.hold_on_to = client.ownership.hold_on_to
        self.let_go = client.ownership.let_go

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        outcome = CommitOutcome()
        self._member.may_stand_still()
        with self._client.ownership.committing(commits, outcome, promise=promise) as allowed:
            if allowed:
                self._send(allowed, outcome)
        return outcome

    def _send(self, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome) -> None:
        """Send as kafka-python does: again after a lost answer, under the generation that it has by then."""
        source, error = self._around.random, self._around.unreliability
        for _ in range(2):
            self._member.may_stand_still(self._around.slow_commits)
            if not self._client.may_commit:
                outcome.refused |= commits.keys()
                return
            member_id, generation = self._client.member_id, self._client.generation
            self._member.may_stand_still()  # on its way: the group may be elsewhere when it arrives
            arrives, answered = source.random() >= error, source.random() >= error
            coordinator = self._around.coordinator
            if arrives and (member_id not in coordinator.known or generation != coordinator.generation):
                self._around.chronicle.tell(self._client.name, "is refused a commit of generation {}", generation)
                outcome.failed |= dict.fromkeys(commits, RuntimeError("not a member of this generation"))
                return
            if arrives:
                self._apply(commits)
            if arrives and answered:
                outcome.committed |= commits.keys()
                return
        outcome.failed |= dict.fromkeys(commits, TimeoutError("no answer"))

    def _apply(self, commits: Mapping[TopicPartition, Commit]) -> None:
        for partition, commit in commits.items():
            assert commit.committed.mark is not None
            self._around.kafka.commit(
                self._client.name, partition, commit.committed.offset, commit.committed.mark.text()
            )


class OffsetsPort:
    """`group.offsets.OffsetReader`: an answer may be lost, and the world may move on while it is on its way."""

    def __init__(self, member: "Member", around: Surroundings) -> None:
        self._member, self._around = member, around

    def committed(
        self, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, Committed | UnknownMarkError | None]:
        with self._asked():
            commits = self._around.kafka.commits
            return {p: parse_commit(*commits[p]) if p in commits else None for p in partitions}

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        with self._asked():
            return Answer({p: self._around.kafka.log(p).start for p in partitions})

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        with self._asked():
            return Answer({p: self._around.kafka.log(p).end for p in partitions})

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        return Answer(dict.fromkeys(timestamps))

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        with self._asked():
            ids = self._around.kafka.topic_ids
            return {topic: TopicDescription(ids[topic], dict.fromkeys(range(TOPICS[topic]), 1)) for topic in topics}

    @contextmanager
    def _asked(self) -> Iterator[None]:
        if self._around.random.random() < self._around.unreliability:
            raise ConnectionError("Kafka does not answer")
        yield
        self._member.may_stand_still()


class Member:
    """One process."""

    def __init__(self, name: str, manifest: Manifest, around: Surroundings) -> None:
        self.name = name
        self.client = Client(name, around)
        self._around = around
        resource, revision = manifest.resource()
        around.chronicle.tell(name, "starts: {} (revision {})", manifest, revision.hash)
        world = ports.World(
            GroupPort(self, self.client, around),
            OffsetsPort(self, around),
            BucketMemory(name, around.bucket, around.kafka.ledger, around.chronicle, around.rules),
            Jobs(around.spark, name),
            Sampler(around.random),
        )
        now = self._now
        self.cycle = Cycle(resource, revision, world, clock=now, now=now)
        self.process = Process(self._turn)
        self.waits_until = 0.0
        """When a request of the cycle is answered; the client goes on meanwhile."""
        self.stopped = False
        """Whether the whole process stands still (SIGSTOP, a long pause): neither the cycle nor the client moves."""

    def _now(self) -> float:
        return self._around.chronicle.time

    def may_stand_still(self, likelihood: float = 0.0) -> None:
        """Stop in the middle of the turn until the world lets it go on: others do what they do meanwhile."""
        source = self._around.random
        if source.random() < (likelihood or self._around.restlessness):
            if source.random() < self._around.hanging:
                self.waits_until = self._around.chronicle.time + source.random() * LONGEST_WAIT_SECONDS
            self.process.pause()

    def _turn(self) -> None:
        try:
            self.cycle.turn()
        except (ConnectionError, StorageError, Violation) as error:  # as member/process.py: the next round tries again
            self._around.chronicle.tell(self.name, "gives up a turn: {}", type(error).__name__)
        except Exception:  # noqa: BLE001 - raised by the world, not in the thread
            self._around.chronicle.note(traceback.format_exc())
