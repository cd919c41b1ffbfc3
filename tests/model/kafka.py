"""Kafka's side: logs, committed offsets, and the group as its coordinator sees it."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from logpersister.plan.intents import OffsetMetadata, parse
from logpersister.ranges import Offset, TopicPartition
from tests.model.chronicle import Chronicle
from tests.model.ledger import Identity, Ledger, Log

MOST_REMEMBERED = 12
MOST_FORMER_ANSWERS = 3
Commits = dict[TopicPartition, tuple[Offset, str]]
"""Committed offsets with their metadata."""


class Kafka:
    """Topics, their logs, and the commits of one group."""

    def __init__(self, chronicle: Chronicle, topics: Mapping[str, int]) -> None:
        """Begin with empty topics of so many partitions."""
        self._chronicle = chronicle
        self._incarnations = 0
        self.history: dict[Identity, Log] = {}
        self.topics = dict(topics)
        self.topic_ids: dict[str, str] = {}
        self.commits: Commits = {}
        self.past: deque[Commits] = deque(maxlen=MOST_REMEMBERED)
        """What has stood there before, the newest last."""
        self.ledger = Ledger(chronicle, self.history)
        for topic in topics:
            self._create(topic)

    @property
    def partitions(self) -> list[TopicPartition]:
        return sorted(TopicPartition(topic, index) for topic, count in self.topics.items() for index in range(count))

    def of_another_group(self, ledger: Any) -> "Kafka":
        """Return the same topics, with the commits of another group, which another ledger judges."""
        other = copy(self)
        other.commits, other.past, other.ledger = {}, deque(maxlen=MOST_REMEMBERED), ledger
        return other

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

    def first_since(self, partition: TopicPartition, milliseconds: int) -> tuple[Offset, int] | None:
        """Return the first record that is not older, with its time; None: there is none."""
        log = self.log(partition)
        for offset, written in zip(log.offsets, log.times, strict=True):
            if offset >= log.start and int(written * 1000) >= milliseconds:
                return offset, int(written * 1000)
        return None

    # what happens

    def produce(self, partition: TopicPartition, offsets: Iterable[bool], schema: int = 1) -> None:
        """Append offsets with a record (True), or without one: a marker, or an aborted record.

        Args:
            partition: where.
            offsets: whether each has a record.
            schema: version by which the records are written; registered before.
        """
        log = self.log(partition)
        for has_record in offsets:
            if has_record:
                log.offsets.append(log.end)
                log.times.append(self._chronicle.time)
                if schema > 1:
                    log.schemas[log.end] = schema
            log.end += 1
        self._chronicle.tell("producer", "{} ends at {}", partition, log.end)

    def retain(self, partition: TopicPartition, count: int) -> None:
        """Retention deletes the oldest offsets, stored or not."""
        log = self.log(partition)
        log.start = min(log.end, log.start + count)
        self._chronicle.tell("kafka", "{} begins at {} now", partition, log.start)

    def grow(self, topic: str) -> None:
        """A topic gets one partition more."""
        added = TopicPartition(topic, self.topics[topic])
        self.topics[topic] += 1
        self.history[self.identity(added)] = Log()
        self.ledger.added(self.identity(added))
        self._chronicle.tell("user", "adds partition {}", added)

    def recreate(self, topic: str, forgets: Callable[[], bool]) -> None:
        """A topic is deleted and made again; Kafka deletes its commits, sooner or later."""
        for partition in self.partitions:
            if partition.topic == topic:
                self.log(partition).start = self.log(partition).end
                self.ledger.deleted(self.identity(partition))
        self._create(topic)
        self.past.clear()
        for partition in self.partitions:
            if partition.topic == topic and (forgets() or self._metadata(partition) is None):
                self.commits.pop(partition, None)
        self._chronicle.tell("user", "deletes topic {} and makes it again as {}", topic, self.topic_ids[topic])

    def _metadata(self, partition: TopicPartition) -> OffsetMetadata | None:
        """Return what the commit says of itself; None beside what a user has set."""
        return parse(*self.commits.get(partition, (0, ""))).metadata

    def forget(self) -> None:
        """Kafka forgets the offsets of a group that was idle."""
        self._chronicle.tell("kafka", "forgets the group's offsets")
        self.past.clear()
        for partition in self.partitions:
            self.commits.pop(partition, None)
            self.ledger.forgotten(partition)

    def reset(self, partition: TopicPartition, offset: Offset, *, keeps_metadata: bool = False) -> None:
        """A user sets the offset of a partition to anywhere in its log, by a tool that may keep the metadata."""
        before, metadata = self.commits.get(partition, (None, ""))
        known = self._metadata(partition)
        if known is not None and known.ends:
            self.past.clear()  # no promise is shown again that a user has cut: docs/design/intents.md says so
        if not keeps_metadata:
            metadata = ""
        elif before == offset:
            return
        self._chronicle.tell("user", "sets the offset of {} to {}, beside it {!r}", partition, offset, metadata)
        self.ledger.user_sets(self.identity(partition), offset)
        self.commits[partition] = (offset, metadata)

    def fall_back(self, older: Commits) -> None:
        """Kafka loses the latest commits and shows older ones: an unclean election, a restored cluster."""
        self.past.clear()
        for partition in self.partitions:
            now, then = self.commits.get(partition), older.get(partition)
            if now == then:
                continue
            self._chronicle.tell("kafka", "shows {} as it was: {}", partition, then)
            if then is None:
                del self.commits[partition]
                self.ledger.forgotten(partition)
            else:
                self.commits[partition] = then
                written = parse(*then).metadata
                if written is None or written.topic_id == self.topic_ids[partition.topic]:
                    self.ledger.fell_back(self.identity(partition), then[0], of_a_user=written is None)
                else:
                    self.ledger.forgotten(partition)

    def commit(self, who: str, partition: TopicPartition, offset: Offset, metadata: str) -> None:
        self._chronicle.tell(who, "commits {} @{} {!r}", partition, offset, metadata)
        self.ledger.commit(partition, offset, metadata)
        self.past.append(dict(self.commits))
        self.commits[partition] = (offset, metadata)


Wish = Callable[[TopicPartition, Sequence[str], Sequence[str]], str]
"""Whom the leader wants to have a partition, of those who claim it and of all who have joined."""


@dataclass(frozen=True)
class Former:
    """A broker that was the coordinator, stood still, and wakes up without knowing of its successor."""

    commits: Commits
    generation: int
    known: frozenset[str]


class Coordinator:
    """The group: who is in it, in which generation, and who has what. Cooperative: partitions move in two rounds."""

    def __init__(self, chronicle: Chronicle, wish: Wish) -> None:
        self._chronicle = chronicle
        self._wish = wish
        self.former: Former | None = None
        """Who may answer in place of the true one."""
        self.former_answers = 0
        self.shared_out: Mapping[str, int] = {}
        """The partition counts by which the leader has shared out the present generation."""
        self.generation = 0
        self.known: set[str] = set()
        """Member ids. A process that was expelled comes back under another one."""
        self.rebalancing = False
        self.joined: dict[str, set[TopicPartition]] = {}
        """Who has joined the rebalance that is going on, with what he claims."""
        self.answers: dict[str, tuple[int, set[TopicPartition]]] = {}
        """What SyncGroup tells each member of the present generation."""

    def join(self, member_id: str, claims: set[TopicPartition]) -> None:
        self.known.add(member_id)
        self.answers.pop(member_id, None)
        self.joined[member_id] = claims
        self.rebalancing = True

    def rebalance(self) -> None:
        if not self.rebalancing:
            self.rebalancing, self.joined = True, {}

    def remove(self, member_id: str) -> None:
        """A member has left, or was not heard of in time."""
        self.known.discard(member_id)
        self.joined.pop(member_id, None)
        self.answers.pop(member_id, None)
        self.rebalance()

    def missing(self) -> set[str]:
        """Return who has not joined the rebalance that is going on."""
        return self.known - self.joined.keys() if self.rebalancing else set()

    def can_complete(self) -> bool:
        return self.rebalancing and bool(self.joined) and not self.missing()

    def fail_over(self, commits: Commits) -> None:
        """Another broker takes over, with all that was committed; the former one stands still as it is."""
        self._chronicle.tell("kafka", "the coordinator stands still, and another broker takes its place")
        self.former = Former(dict(commits), self.generation, frozenset(self.known))
        self.former_answers = MOST_FORMER_ANSWERS

    def former_has_answered(self) -> None:
        """It hears of its successor in the end."""
        self.former_answers -= 1
        if self.former_answers == 0:
            self.former = None

    def complete(self, counts: Mapping[str, int]) -> None:
        """All have joined: the next generation begins. The leader gives away only what nobody claims.

        Args:
            counts: how many partitions the leader sees.
        """
        if not self.can_complete():
            return
        self.shared_out = dict(counts)
        partitions = [TopicPartition(topic, index) for topic, count in counts.items() for index in range(count)]
        self.generation += 1
        claimants: dict[TopicPartition, list[str]] = defaultdict(list)
        for member, claims in self.joined.items():
            for partition in claims:
                claimants[partition].append(member)
        shares: dict[str, set[TopicPartition]] = {member: set() for member in self.joined}
        for partition in partitions:
            claiming = claimants[partition]
            target = self._wish(partition, claiming, sorted(self.joined))
            if not claiming or target in claiming:
                shares[target].add(partition)
        self.answers = {member: (self.generation, share) for member, share in shares.items()}
        self.rebalancing, self.joined = False, {}
        told = "; ".join(f"{member}: {', '.join(map(str, sorted(share))) or '-'}" for member, share in shares.items())
        self._chronicle.tell("group", "generation {}: {}", self.generation, told)
