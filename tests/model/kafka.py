"""Kafka's side: logs, committed offsets, and the group as its coordinator sees it."""

import random
from collections import defaultdict

from logpersister.ranges import Offset, TopicPartition
from tests.model.chronicle import Chronicle
from tests.model.ledger import Identity, Ledger, Log

TOPICS = {"clicks": 2, "orders": 1}
"""Partitions by topic."""


class Kafka:
    """Topics, their logs, and the commits of one group."""

    def __init__(self, chronicle: Chronicle, source: random.Random) -> None:
        self._chronicle = chronicle
        self._random = source
        self._incarnations = 0
        self.history: dict[Identity, Log] = {}
        self.topic_ids: dict[str, str] = {}
        self.commits: dict[TopicPartition, tuple[Offset, str]] = {}
        self.ledger = Ledger(chronicle, self.history)
        self.partitions = [TopicPartition(topic, index) for topic, count in TOPICS.items() for index in range(count)]
        for topic in TOPICS:
            self._create(topic)

    def identity(self, partition: TopicPartition) -> Identity:
        return Identity(partition, self.topic_ids[partition.topic])

    def log(self, partition: TopicPartition) -> Log:
        return self.history[self.identity(partition)]

    def _create(self, topic: str) -> None:
        self._incarnations += 1
        self.topic_ids[topic] = f"{topic[0]}{self._incarnations:021d}"
        for partition in self.partitions:
            if partition.topic == topic:
                self.history[self.identity(partition)] = Log()

    # what happens

    def produce(self) -> None:
        partition = self._random.choice(self.partitions)
        log = self.log(partition)
        for _ in range(self._random.randint(1, 8)):
            if self._random.random() < 0.8:  # otherwise a gap: a marker, or an aborted record
                log.offsets.append(log.end)
            log.end += 1
        self._chronicle.tell("producer", "{} ends at {}", partition, log.end)

    def retain(self) -> None:
        """Retention deletes the oldest records, stored or not."""
        partition = self._random.choice(self.partitions)
        log = self.log(partition)
        log.start = min(log.end, log.start + self._random.randint(1, 12))
        self._chronicle.tell("kafka", "{} begins at {} now", partition, log.start)

    def recreate(self) -> None:
        """A topic is deleted and made again; Kafka deletes its commits, sooner or later."""
        topic = self._random.choice(sorted(self.topic_ids))
        for partition in self.partitions:
            if partition.topic == topic:
                self.log(partition).start = self.log(partition).end
                self.ledger.deleted(self.identity(partition))
        self._create(topic)
        for partition in self.partitions:
            if partition.topic == topic and (self._random.random() < 0.7 or not self._is_marked(partition)):
                self.commits.pop(partition, None)
        self._chronicle.tell("user", "deletes topic {} and makes it again as {}", topic, self.topic_ids[topic])

    def _is_marked(self, partition: TopicPartition) -> bool:
        """Whether the commit says of which topic it is: what a user has set does not."""
        return bool(self.commits.get(partition, (0, ""))[1])

    def forget(self) -> None:
        """Kafka forgets the offsets of a group that was idle."""
        self._chronicle.tell("kafka", "forgets the group's offsets")
        for partition in self.partitions:
            self.commits.pop(partition, None)
            self.ledger.forgotten(partition)

    def reset(self) -> None:
        """A user sets the offset of a partition: to anywhere in its log."""
        partition = self._random.choice(self.partitions)
        log = self.log(partition)
        offset = self._random.randint(log.start, log.end)
        self._chronicle.tell("user", "sets the offset of {} to {}", partition, offset)
        self.ledger.user_sets(self.identity(partition), offset)
        self.commits[partition] = (offset, "")

    def commit(self, who: str, partition: TopicPartition, offset: Offset, metadata: str) -> None:
        self._chronicle.tell(who, "commits {} @{} {!r}", partition, offset, metadata)
        self.ledger.commit(partition, offset, metadata)
        self.commits[partition] = (offset, metadata)


class Coordinator:
    """The group: who is in it, in which generation, and who has what. Cooperative: partitions move in two rounds."""

    def __init__(self, chronicle: Chronicle, source: random.Random) -> None:
        self._chronicle = chronicle
        self._random = source
        self.generation = 0
        self.known: set[str] = set()
        """Member ids. A process that was expelled comes back under another one."""
        self.stickiness = 0.7
        """How likely a partition stays with a member that claims it."""
        self.rebalancing = False
        self._joined: dict[str, set[TopicPartition]] = {}
        self.answers: dict[str, tuple[int, set[TopicPartition]]] = {}
        """What SyncGroup tells each member of the present generation."""

    def join(self, member_id: str, claims: set[TopicPartition]) -> None:
        self.known.add(member_id)
        self.answers.pop(member_id, None)
        self._joined[member_id] = claims
        self.rebalancing = True

    def rebalance(self) -> None:
        if not self.rebalancing:
            self.rebalancing, self._joined = True, {}

    def remove(self, member_id: str) -> None:
        """A member has left, or was not heard of in time."""
        self.known.discard(member_id)
        self._joined.pop(member_id, None)
        self.answers.pop(member_id, None)
        self.rebalance()

    def missing(self) -> set[str]:
        """Return who has not joined the rebalance that is going on."""
        return self.known - self._joined.keys() if self.rebalancing else set()

    def complete(self, partitions: list[TopicPartition]) -> None:
        """All have joined: the next generation begins. The leader gives away only what nobody claims."""
        if not self.rebalancing or not self._joined or self.missing():
            return
        self.generation += 1
        claimants: dict[TopicPartition, list[str]] = defaultdict(list)
        for member, claims in self._joined.items():
            for partition in claims:
                claimants[partition].append(member)
        shares: dict[str, set[TopicPartition]] = {member: set() for member in self._joined}
        for partition in partitions:
            claiming = claimants[partition]
            stays = claiming and self._random.random() < self.stickiness
            target = self._random.choice(claiming if stays else sorted(self._joined))
            if not claiming or target in claiming:
                shares[target].add(partition)
        self.answers = {member: (self.generation, share) for member, share in shares.items()}
        self.rebalancing, self._joined = False, {}
        told = "; ".join(f"{member}: {', '.join(map(str, sorted(share))) or '-'}" for member, share in shares.items())
        self._chronicle.tell("group", "generation {}: {}", self.generation, told)
