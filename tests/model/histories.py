"""Random histories: what happens next is drawn by a seed, with a mood that makes some things frequent."""

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Self
from unittest.mock import patch

from logpersister.ranges import TopicPartition
from tests.model.chronicle import Chronicle
from tests.model.decisions import Chances
from tests.model.member import Manifest
from tests.model.replaying import Replays
from tests.model.rules import Rules
from tests.model.world import SimulatedWorld

STEPS = 400
SETTLE_ROUNDS = 400
MOODS = (
    "plain",
    "restless",
    "handing over",
    "expelling",
    "losing",
    "meddling",
    "crashing",
    "remaking",
    "moving",
    "failing over",
    "growing",
    "evolving",
    "parsing",
    "finishing",
    "replaying",
)
"""What happens often in a history: rare things meet only where they are not drowned by the others."""
TOPICS = {"clicks": 2, "orders": 1}
"""Partitions by topic."""
MOST_PARTITIONS = 5
PREFIXES = ("raw", "other", "third")
GRACE_SECONDS = 4.0
LONGEST_HANG_SECONDS = 120.0


class History(SimulatedWorld):
    """One simulated history. To be used as a context manager: members stand still in the middle of what they do."""

    def __init__(self, seed: int, *, mood: str, rules: Rules | None = None, without: Collection[int] = ()) -> None:
        """Begin with an empty Kafka, an empty bucket and one member.

        Args:
            seed: of everything that is left to chance.
            mood: what happens often.
            rules: the laws of this world.
            without: steps that are left out; the others are what they were.
        """
        self._leave_nothing_to_chance(seed)
        self._seed = seed
        self._without = without
        self._chances = chances = Chances(seed)
        self.random = chances.random
        self.mood = mood
        some = self.random.choice
        super().__init__(
            Chronicle(f"seed {seed}, {mood}: {_command(seed, mood, without)}"),
            chances,
            rules or Rules(),
            topics=TOPICS,
            wish=self._wish,
            manifest=Manifest(
                folders=some((False, True)),
                on_data_loss=some(("fail", "skip")),
                start_from=some(("earliest", "latest")) if mood in ("growing", "losing") else "earliest",
                own_keys=mood == "moving" and some((False, True)),
                registry=mood == "evolving" or (mood == "parsing" and seed % 2 == 0),
                parser=mood == "parsing",
                late=mood == "finishing" or (mood == "moving" and seed % 4 == 0),
                by_override=seed % 2 == 1,
            ),
            grace_seconds=GRACE_SECONDS,
        )
        self.most_members = 3
        self._stickiness = 0.7
        """How likely a partition stays with a member that claims it."""
        self._hanging_jobs = some((0.0, 0.03, 0.1))
        """How likely a job hangs at a step."""
        self._hangs_until: dict[str, float] = {}
        self.replays = Replays(self.around, lambda: self.manifest, chances, self._wish)
        self._actions, self._weights = self._choose_actions()
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self.replays.close()
        self.close()
        self._hashes.stop()
        random.setstate(self._random_state)

    def _leave_nothing_to_chance(self, seed: int) -> None:
        """Make the production code do the same for the same seed: its jitter, and the order in which its sets are."""
        self._random_state = random.getstate()
        random.seed(seed)
        self._hashes = patch.object(TopicPartition, "__hash__", lambda it: hash((ord(it.topic[0]), it.partition)))
        self._hashes.start()

    def _wish(self, partition: TopicPartition, claiming: Sequence[str], joined: Sequence[str]) -> str:
        stays = claiming and self._chances.happens(self._stickiness)
        return self.random.choice(claiming if stays else joined)

    def _choose_actions(self) -> tuple[list[Callable[[], object]], list[float]]:
        """Each history has its own mixture, too."""
        some = self.random.choice

        def much(when: str) -> float:
            return 4.0 if self.mood == when else 1.0

        actions: dict[Callable[[], object], float] = {
            self.produce: 2.0,
            self.turn: 10.0,
            self.client: 8.0,
            self.advance: 12.0,
            self.complete: 4.0,
            self.start_another: 0.6 * much("restless"),
            self.go_on_with_one: 0.6,
            # incidents
            self.coordinator.rebalance: 0.4 * much("restless") * some((0, 1, 2)),
            self.expel_one: 0.2 * much("restless") * some((0, 1, 2)),
            self.stop_one: 0.2 * much("restless") * some((0, 1, 2)),
            self.crash_one: 0.15 * much("crashing") * some((0, 1, 2)),
            self.let_one_leave: 0.1 * much("crashing") * some((0, 1, 2)),
            self.outage: 0.2 * some((0, 1, 2)),
            # what users and Kafka do
            self.change_manifest: 0.15 * much("meddling") * some((0, 1, 2)),
            self.raise_generation: 0.05 * much("meddling") * some((0, 1)),
            self.reset_one: 0.05 * much("meddling") * some((0, 1)),
            self.forget: 0.05 * much("losing") * some((0, 1)),
            self.recreate_one: 0.05 * much("meddling") * some((0, 1)),
            self.retain_some: 0.15 * much("losing") * some((0, 1)),
            self.fall_back_somewhat: 0.03 * much("meddling") * some((0, 1)),
            self.fail_over: 0.1 * much("failing over") * some((0, 1)),
            self.former_hears: 0.1,
            self.grow_one: 0.1 * much("growing") * some((0, 1)),
            self.see_topics: 0.3,
        }
        chances = self._chances
        chances.restlessness = 0.4 if self.mood == "restless" else some((0.0, 0.1, 0.3))
        chances.unreliability = 0.15 if self.mood == "restless" else some((0.0, 0.03, 0.1))
        chances.failing = some((0.0, 0.05, 0.2))
        if self.mood == "failing over":  # members go on, and partitions go from hand to hand
            chances.unreliability, self._stickiness = 0.15, 0.3
            seldom = (self.forget, self.recreate_one, self.retain_some, self.reset_one, self.fall_back_somewhat)
            actions = {action: weight for action, weight in actions.items() if action not in seldom}
            actions |= {self.fail_over: 0.5, self.coordinator.rebalance: 0.6, self.expel_one: 0.3}
        if self.mood in ("handing over", "expelling"):  # little else: members live, and partitions go from hand to hand
            chances.unreliability, chances.restlessness, self._stickiness = 0.15, 0.15, 0.2
            chances.hanging, chances.slow_commits, self.most_members = 0.6, 0.4, 2
            chances.failing = 0.0
            calm = (self.crash_one, self.let_one_leave, self.outage, self.change_manifest)
            rare = (self.raise_generation, self.reset_one, self.forget, self.recreate_one, self.retain_some)
            new = (self.fall_back_somewhat, self.fail_over, self.grow_one)
            actions = {action: weight for action, weight in actions.items() if action not in (*calm, *rare, *new)}
            actions |= {self.produce: 0.5, self.turn: 10.0, self.advance: 8.0, self.client: 10.0}
            actions |= {self.complete: 8.0, self.coordinator.rebalance: 0.3, self.expel_one: 0.3}
            stops = 0.3 if self.mood == "expelling" else 0.0
            actions |= {self.stop_one: stops, self.go_on_with_one: 0.3}
        if self.mood == "remaking":  # topics are made again while jobs of the old ones hang, and their members are dead
            chances.failing = chances.unreliability = 0.0
            self._hanging_jobs = 0.2
            actions |= {self.recreate_one: 0.4, self.raise_generation: 0.2, self.crash_one: 0.4, self.expel_one: 0.6}
            actions |= {self.start_another: 1.0, self.retain_some: 0.0, self.forget: 0.0, self.reset_one: 0.0}
        if self.mood == "evolving":
            actions |= {self.evolve_one: 1.0, self.crash_one: 0.4, self.start_another: 1.0}
            actions |= {self.break_one_schema: 0.3 * some((0, 1)), self.mend_schemas: 0.3}
        if self.mood == "parsing":  # objects for rows and for what is refused, by the schema of the range's intent
            actions |= {self.crash_one: 0.4, self.start_another: 1.0, self.forget: 0.25, self.replay_one: 2.0}
            actions |= {self.evolve_one: 0.5} if self.manifest.registry else {}
        if self.mood == "finishing":
            actions |= {self.crash_one: 0.4, self.start_another: 1.0, self.forget: 0.1, self.raise_generation: 0.05}
        if self.mood == "replaying":  # beside the live group, of which nothing is stored twice because a user wants it
            actions |= dict.fromkeys((self.reset_one, self.fall_back_somewhat, self.recreate_one, self.grow_one), 0.0)
            replays, actions[self.change_manifest] = self.replays, 0.0
            chances.restlessness = 0.3
            actions |= {replays.begin: 0.3, replays.go_on: 25.0, replays.disturb: 0.2, replays.switch: 0.4}
            actions |= {
                self.replay_one_at_once: 0.1,
                replays.read: 0.4,
                self.forget: 0.15,
                self.raise_generation: 0.1,
                self.retain_some: 0.15,
            }
        if self.mood == "moving":  # what is stored twice because a user wants it so would hide the rest
            seldom = (self.reset_one, self.forget, self.recreate_one, self.retain_some, self.fall_back_somewhat)
            actions = {action: weight for action, weight in actions.items() if action not in seldom}
            actions |= {self.move: 0.5, self.refuse_one: 0.2, self.crash_one: 0.4, self.start_another: 1.5}
        if self.manifest.late:
            actions |= {self.finish_one: 1.0}
        likely = {action: weight for action, weight in actions.items() if weight}
        return list(likely), list(likely.values())

    def step(self, number: int) -> None:
        """Do one thing, chosen at random: by seed and number, so that others may be left out."""
        self.random.seed(self._seed << 20 | number)
        self.chronicle.time += self.random.random()
        if number in self._without:
            return
        self.random.choices(self._actions, self._weights)[0]()
        if not self.awake() and self._chances.happens(0.3):
            self.random.choice((self.start_another, self.go_on_with_one))()
        if self.mood == "replaying":
            self.replays.readers.look()
        self.check()

    # members

    def forget(self) -> None:
        super().forget()
        self.replays.forget()

    def retain(self, partition: TopicPartition, count: int) -> None:
        super().retain(partition, count)
        self.replays.may_be_held.add("data-lost")

    def start_another(self) -> None:
        if len(self.members) < self.most_members:
            self.start()

    def turn(self) -> None:
        ready = [member for member in self.awake() if member.waits_until <= self.chronicle.time]
        if ready:
            self.random.choice(ready).process.proceed()

    def client(self) -> None:
        if awake := self.awake():
            self.random.choice(awake).client.proceed()

    def advance(self) -> None:
        """Let a job do its next step; now and then one hangs for long, with all that it has read in its memory."""
        now = self.chronicle.time
        ready = [i for i, (_, job) in enumerate(self.spark.running) if self._hangs_until.get(job.name, 0.0) <= now]
        if not ready:
            return
        index = self.random.choice(ready)
        if self._chances.happens(self._hanging_jobs):
            self._hangs_until[self.spark.running[index][1].name] = now + self.random.random() * LONGEST_HANG_SECONDS
        else:
            self.spark.advance(index)

    def crash_one(self) -> None:
        if self.members:
            self.crash(self.members[self.random.choice(sorted(self.members))], jobs_too=self._chances.happens(0.5))

    def let_one_leave(self) -> None:
        idle = [member for member in self.awake() if not member.process.in_the_middle]
        if idle:
            self.leave(self.random.choice(idle))

    def stop_one(self) -> None:
        if awake := self.awake():
            self.stop(self.random.choice(awake))

    def go_on_with_one(self) -> None:
        stopped = [member for member in self.members.values() if member.stopped]
        if stopped:
            self.go_on(self.random.choice(stopped))

    def expel_one(self) -> None:
        silent = self.dead() or sorted(self.coordinator.known)
        if silent:
            self.expel(self.random.choice(silent))

    # what users, Kafka and S3 do

    def produce(self) -> None:
        count = self.random.randint(1, 8)
        partition = self._some_partition()
        records = [self._chances.happens(0.8) for _ in range(count)]
        latest = self.registry.latest(partition.topic)
        self.kafka.produce(partition, records, self.random.randint(1, latest) if latest > 1 else 1)

    def evolve_one(self) -> None:
        """Old and new writers go on side by side."""
        self.evolve(self._some_partition())

    def break_one_schema(self) -> None:
        self.break_schema(self._some_partition())

    def replay_one(self) -> None:
        if replayable := self.replayable():
            self.bucket.replay(self.random.choice(replayable))

    def replay_one_at_once(self) -> None:
        """As if nobody else did anything meanwhile, before there are replays with steps of their own."""
        candidates = [partition for partition in self.kafka.partitions if self.can_replay_history(partition)]
        if candidates and not self.replays.groups:
            self.replay_history(self.random.choice(candidates), deletes_old=self.random.random() < 0.5)

    def finish_one(self) -> None:
        """Folders of a topic are finished; what comes for them from now on is late."""
        topic = self.random.choice(sorted(TOPICS))
        self.finished.finish(topic, self.finished.to(topic) + self.random.randint(1, 3))

    def retain_some(self) -> None:
        self.retain(self._some_partition(), self.random.randint(1, 12))

    def reset_one(self) -> None:
        partition = self._some_partition()
        log = self.kafka.log(partition)
        keeps_metadata = self._chances.happens(0.5)
        self.reset(partition, self.random.randint(log.start, log.end), keeps_metadata=keeps_metadata)

    def fall_back_somewhat(self) -> None:
        """Kafka shows what stood there before."""
        if self.kafka.past:
            self.fall_back(self.random.choice(self.kafka.past))

    def former_hears(self) -> None:
        """The former coordinator hears of its successor."""
        self.coordinator.former = None

    def grow_one(self) -> None:
        if sum(self.kafka.topics.values()) < MOST_PARTITIONS:
            self.grow(self.random.choice(sorted(TOPICS)))

    def see_topics(self) -> None:
        """Somebody's view of the topics is renewed."""
        if awake := self.awake():
            self.random.choice(awake).client.look_at_topics()
        if self._chances.happens(0.3):
            self.leader_sees = None

    def recreate_one(self) -> None:
        self.kafka.recreate(self.random.choice(sorted(TOPICS)), lambda: self._chances.happens(0.7))
        self.may_be_held.add("topic-recreated")

    def change_manifest(self) -> None:
        """A new revision of the same generation; processes that run keep theirs."""
        self.manifest = replace(
            self.manifest,
            folders=self._chances.happens(0.5),
            on_data_loss=self.random.choice(("fail", "skip")),
        )
        self.chronicle.tell("user", "changes the manifest: {}", self.manifest)

    def raise_generation(self) -> None:
        """A new generation rolls out: the old processes may live on beside the new ones for a while."""
        self.manifest = replace(self.manifest, generation=self.manifest.generation + 1)
        self.chronicle.tell("user", "raises the generation to {}", self.manifest.generation)

    def move(self) -> None:
        """Another prefix, for processes that start from now on."""
        self.manifest = replace(self.manifest, prefix=self.random.choice(self._other_prefixes()))
        self.chronicle.tell("user", "changes the manifest: {}", self.manifest)

    def refuse_one(self) -> None:
        """Where the newest manifest stores takes nothing for a while: it is taken back."""
        self.bucket.accept()
        self.refuse(self.manifest.prefix, replace(self.manifest, prefix=self.random.choice(self._other_prefixes())))

    def _other_prefixes(self) -> list[str]:
        return [prefix for prefix in PREFIXES if prefix != self.manifest.prefix and prefix not in self.bucket.refusing]

    def outage(self) -> None:
        self._chances.failing = self.random.choice((0.0, 0.0, 0.05, 0.2, 1.0))
        self.chronicle.tell("s3", "fails with probability {}", self._chances.failing)

    def _some_partition(self) -> TopicPartition:
        return self.random.choice(self.kafka.partitions)

    # the end

    def come_to_rest(self) -> None:
        """Let nothing go wrong any more: everything gets stored; once a person has decided, nothing is held."""
        self._chances.restlessness = self._chances.unreliability = self._chances.failing = 0.0
        self._chances.slow_commits = 0.0
        self.settle(rounds=SETTLE_ROUNDS, pace=1.0)
        if self.mood == "replaying":
            self.replays.come_to_rest(SETTLE_ROUNDS)
            self.check()
        self.decide()
        self.settle(rounds=SETTLE_ROUNDS, pace=1.0)


def _command(seed: int, mood: str, without: Collection[int]) -> str:
    """Return how to play a history again."""
    kept = [step for step in range(STEPS) if step not in without]
    only = f" --only {','.join(map(str, kept))}" if without else ""
    return f"python -m tests.model --seed {seed} --mood {mood!r}{only}"


def play(seed: int, mood: str, rules: Rules | None = None, without: Collection[int] = ()) -> str:
    """Play one history to its end and return its story; raises Violation when a promise is broken."""
    with History(seed, mood=mood, rules=rules, without=without) as history:
        for number in range(STEPS):
            history.step(number)
        history.come_to_rest()
        return history.chronicle.story()
