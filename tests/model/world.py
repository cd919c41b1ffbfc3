"""Decides, by a seed, what happens next."""

import random
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Self
from unittest.mock import patch

from logpersister.ranges import TopicPartition
from tests.model.bucket import Bucket
from tests.model.chronicle import Chronicle
from tests.model.jobs import Spark
from tests.model.kafka import Coordinator, Kafka
from tests.model.member import Manifest, Member, Surroundings
from tests.model.rules import Rules

STEPS = 400
SETTLE_ROUNDS = 400
MOODS = ("plain", "restless", "handing over", "expelling", "losing", "meddling", "crashing")
"""What happens often in a history: rare things meet only where they are not drowned by the others."""


class World:
    """One simulated history. To be used as a context manager: members are threads."""

    def __init__(self, seed: int, *, mood: str | None = None, rules: Rules | None = None) -> None:
        """Begin with an empty Kafka, an empty bucket and one member. Without a mood, the seed has one."""
        self._leave_nothing_to_chance(seed)
        self.random = random.Random(seed)
        self.mood = mood or MOODS[seed % len(MOODS)]
        self.chronicle = Chronicle(f"seed {seed}, {self.mood}: python -m tests.model --seed {seed} --mood {self.mood}")
        rules = rules or Rules()
        self.kafka = Kafka(self.chronicle, self.random)
        self.coordinator = Coordinator(self.chronicle, self.random)
        self.bucket = Bucket(self.chronicle, self.kafka.ledger, rules, self.random)
        self.spark = Spark(self.kafka, self.bucket, self.chronicle, rules, self.random)
        self.around = Surroundings(
            self.kafka, self.coordinator, self.bucket, self.spark, self.chronicle, rules, self.random
        )
        self.members: dict[str, Member] = {}
        some = self.random.choice
        self.manifest = Manifest(folders=some((False, True)), on_data_loss=some(("fail", "skip")))
        self.may_be_held: set[str] = set()
        """Reasons for which partitions may be held, by what has happened."""
        self.most_members = 3
        self._numbers = iter(range(1, 1 << 30))
        self._actions = self._choose_actions()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        for member in self.members.values():
            member.process.kill()
        self._hashes.stop()
        random.setstate(self._random_state)

    def _leave_nothing_to_chance(self, seed: int) -> None:
        """Make the production code do the same for the same seed: its jitter, and the order in which its sets are."""
        self._random_state = random.getstate()
        random.seed(seed)
        self._hashes = patch.object(TopicPartition, "__hash__", lambda it: hash((ord(it.topic[0]), it.partition)))
        self._hashes.start()

    def _choose_actions(self) -> list[tuple[float, Callable[[], None]]]:
        """Each history has its own mixture, too."""
        some = self.random.choice

        def much(when: str) -> float:
            return 4.0 if self.mood == when else 1.0

        actions: dict[Callable[[], None], float] = {
            self.kafka.produce: 2.0,
            self.turn: 10.0,
            self.client: 8.0,
            self.spark.advance: 12.0,
            self.complete: 4.0,
            self.start: 0.6 * much("restless"),
            self.continue_process: 0.6,
            # incidents
            self.coordinator.rebalance: 0.4 * much("restless") * some((0, 1, 2)),
            self.expel: 0.2 * much("restless") * some((0, 1, 2)),
            self.stop_process: 0.2 * much("restless") * some((0, 1, 2)),
            self.crash: 0.15 * much("crashing") * some((0, 1, 2)),
            self.leave: 0.1 * much("crashing") * some((0, 1, 2)),
            self.outage: 0.2 * some((0, 1, 2)),
            # what users and Kafka do
            self.change_manifest: 0.15 * much("meddling") * some((0, 1, 2)),
            self.raise_generation: 0.05 * much("meddling") * some((0, 1)),
            self.reset: 0.05 * much("meddling") * some((0, 1)),
            self.forget: 0.05 * much("losing") * some((0, 1)),
            self.recreate: 0.05 * much("meddling") * some((0, 1)),
            self.retain: 0.15 * much("losing") * some((0, 1)),
        }
        self.around.restlessness = 0.4 if self.mood == "restless" else some((0.0, 0.1, 0.3))
        self.around.unreliability = 0.15 if self.mood == "restless" else some((0.0, 0.03, 0.1))
        self.bucket.failing = some((0.0, 0.05, 0.2))
        if self.mood in ("handing over", "expelling"):  # little else: members live, and partitions go from hand to hand
            self.around.unreliability, self.around.restlessness, self.coordinator.stickiness = 0.15, 0.15, 0.2
            self.around.hanging, self.around.slow_commits, self.most_members = 0.6, 0.4, 2
            self.bucket.failing = 0.0
            calm = (self.crash, self.leave, self.outage, self.change_manifest)
            rare = (self.raise_generation, self.reset, self.forget, self.recreate, self.retain)
            actions = {action: weight for action, weight in actions.items() if action not in (*calm, *rare)}
            actions |= {self.kafka.produce: 0.5, self.turn: 10.0, self.spark.advance: 8.0, self.client: 10.0}
            actions |= {self.complete: 8.0, self.coordinator.rebalance: 0.3, self.expel: 0.3}
            stops = 0.3 if self.mood == "expelling" else 0.0
            actions |= {self.stop_process: stops, self.continue_process: 0.3}
        return [(weight, action) for action, weight in actions.items() if weight]

    def step(self) -> None:
        """Do one thing, chosen at random."""
        self.chronicle.time += self.random.random()
        weights = [weight for weight, _ in self._actions]
        self.random.choices([action for _, action in self._actions], weights)[0]()
        if not self.awake() and self.random.random() < 0.3:
            self.random.choice((self.start, self.continue_process))()
        self.check()

    def check(self) -> None:
        if self.chronicle.violation is not None:
            raise self.chronicle.violation

    # members

    def awake(self) -> list[Member]:
        return [member for member in self.members.values() if not member.stopped]

    def start(self) -> None:
        if len(self.members) < self.most_members:
            name = f"member-{next(self._numbers)}"
            self.members[name] = Member(name, self.manifest, self.around)

    def turn(self) -> None:
        ready = [member for member in self.awake() if member.waits_until <= self.chronicle.time]
        if ready:
            self.random.choice(ready).process.proceed()

    def client(self) -> None:
        if self.awake():
            self.random.choice(self.awake()).client.proceed()

    def complete(self) -> None:
        self.coordinator.complete(self.kafka.partitions)

    def crash(self) -> None:
        """kill -9. The group hears of it when the session ends; tasks may go on as zombies for as long as they like."""
        if self.members:
            member = self.members.pop(self.random.choice(sorted(self.members)))
            self.chronicle.tell(member.name, "is killed")
            member.process.kill()
            if self.random.random() < 0.5:
                self.spark.kill(member.name)

    def leave(self) -> None:
        """A member ends in order: what still runs stays pending, and nothing is committed any more."""
        idle = [member for member in self.awake() if not member.process.in_the_middle]
        if idle:
            member = self.random.choice(idle)
            del self.members[member.name]
            self.chronicle.tell(member.name, "leaves")
            member.process.kill()
            self.coordinator.remove(member.client.member_id)

    def stop_process(self) -> None:
        if len(self.awake()) > 0:
            member = self.random.choice(self.awake())
            member.stopped = True
            self.chronicle.tell(member.name, "stands still (SIGSTOP)")

    def continue_process(self) -> None:
        stopped = [member for member in self.members.values() if member.stopped]
        if stopped:
            member = self.random.choice(stopped)
            member.stopped = False
            self.chronicle.tell(member.name, "goes on (SIGCONT)")

    def expel(self) -> None:
        """The group has not heard of a member in time: it is dead, stands still, or cannot be reached."""
        alive = {member.client.member_id for member in self.awake()}
        silent = sorted(self.coordinator.known - alive) or sorted(self.coordinator.known)
        if silent:
            name = self.random.choice(silent)
            self.chronicle.tell("group", "expels {}", name)
            self.coordinator.remove(name)

    # what users, Kafka and S3 do

    def change_manifest(self) -> None:
        """A new revision of the same generation; processes that run keep theirs."""
        self.manifest = Manifest(
            self.manifest.generation, self.random.random() < 0.5, self.random.choice(("fail", "skip"))
        )
        self.chronicle.tell("user", "changes the manifest: {}", self.manifest)

    def raise_generation(self) -> None:
        """A new generation rolls out: the old processes may live on beside the new ones for a while."""
        self.manifest = replace(self.manifest, generation=self.manifest.generation + 1)
        self.chronicle.tell("user", "raises the generation to {}", self.manifest.generation)

    def outage(self) -> None:
        self.bucket.failing = self.random.choice((0.0, 0.0, 0.05, 0.2, 1.0))
        self.chronicle.tell("s3", "fails with probability {}", self.bucket.failing)

    def retain(self) -> None:
        self.kafka.retain()
        self.may_be_held.add("data-lost")

    def recreate(self) -> None:
        self.kafka.recreate()
        self.may_be_held.add("topic-recreated")

    def forget(self) -> None:
        """Everything has died long ago, zombies too."""
        self._end_all()
        self.kafka.forget()

    def reset(self) -> None:
        """The group must be idle for that. Zombies are not allowed for here: docs/design/intents.md says so."""
        self._end_all()
        self.kafka.reset()
        self.may_be_held.add("replay-requested")

    def _end_all(self) -> None:
        self.spark.kill()
        for name in sorted(self.members):
            member = self.members.pop(name)
            member.process.kill()
            self.chronicle.tell(name, "is ended")
        for member_id in sorted(self.coordinator.known):
            self.coordinator.remove(member_id)

    # the end

    def settle(self) -> None:
        """Let everything come to rest, until every record is stored that no person has to decide about."""
        self.around.restlessness = self.around.unreliability = self.bucket.failing = 0.0
        for member in self.members.values():
            member.stopped = False
        alive = {member.client.member_id for member in self.members.values()}
        for member_id in sorted(self.coordinator.known - alive):
            self.coordinator.remove(member_id)
        self.start()
        for _ in range(SETTLE_ROUNDS):
            self.chronicle.time += 1.0
            for member in self.members.values():
                member.client.proceed()
                member.process.proceed()
            self.complete()
            while self.spark.running:
                self.spark.advance()
            self.check()
            if self._is_current():
                return
        self.chronicle.violated(f"it never comes to rest: {self.kafka.commits}")

    def decide(self) -> None:
        """Do what the messages of all holds say: raise the generation, accept losses. Then nothing is held."""
        self._end_all()
        self.manifest = replace(self.manifest, generation=self.manifest.generation + 1, on_data_loss="skip")
        self.chronicle.tell("user", "decides: {}", self.manifest)
        self.may_be_held = set()
        self.settle()

    def _is_current(self) -> bool:
        held = {p: hold for member in self.members.values() for p, hold in member.cycle.book.held().items()}
        for partition, hold in held.items():
            if hold.reason not in self.may_be_held:
                self.chronicle.violated(f"{partition} is held without a cause: {hold.message}")
        return all(
            partition in held or (partition in self.kafka.commits and self._position(partition) == log_end)
            for partition, log_end in ((p, self.kafka.log(p).end) for p in self.kafka.partitions)
        )

    def _position(self, partition: object) -> int:
        return next((offset for p, (offset, _) in self.kafka.commits.items() if p == partition), -1)


def play(seed: int, mood: str, rules: Rules | None = None) -> str:
    """Play one history to its end and return its story; raises Violation when a promise is broken."""
    with World(seed, mood=mood, rules=rules) as world:
        for _ in range(STEPS):
            world.step()
        world.settle()
        world.decide()
        return world.chronicle.story()
