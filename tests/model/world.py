"""The simulated world, and what can happen in it. Who decides what does happen: `histories` by chance, `small` all."""

from collections.abc import Mapping
from dataclasses import replace

from logpersister.plan.intents import parse as parse_commit
from logpersister.ranges import TopicPartition
from logpersister.storage.current import change_current
from logpersister.storage.replayed import ReplayNote, begin_replay
from tests.model.bucket import GROUP, Bucket
from tests.model.chronicle import Chronicle
from tests.model.decisions import Decisions
from tests.model.finished import Finished
from tests.model.jobs import QUARANTINE, Spark
from tests.model.kafka import Commits, Coordinator, Kafka, Wish
from tests.model.ledger import ObjectKey, StoredObject
from tests.model.member import Manifest, Member
from tests.model.registry import Registry
from tests.model.rules import Rules
from tests.model.store import AtOnce, StorePort, in_one_thread, replays_of
from tests.model.surroundings import Surroundings


class SimulatedWorld:
    """Kafka, a bucket, Spark, and the members of one group. Its members may stand still in the middle: `close` it."""

    def __init__(
        self,
        chronicle: Chronicle,
        decisions: Decisions,
        rules: Rules,
        *,
        topics: Mapping[str, int],
        wish: Wish,
        manifest: Manifest,
        grace_seconds: float,
    ) -> None:
        """Begin with empty topics, an empty bucket, and nobody."""
        self._in_one_thread = in_one_thread()
        self.chronicle = chronicle
        self.kafka = Kafka(chronicle, topics)
        self.kafka.ledger.start_from = manifest.start_from
        self.coordinator = Coordinator(chronicle, wish)
        self.bucket = Bucket(chronicle, self.kafka.ledger, rules, decisions)
        self.registry = Registry(chronicle)
        self.finished = Finished(chronicle, decisions)
        self.kafka.ledger.finished_to = self.finished.to
        self.kafka.ledger.can_read = self.registry.can_read
        self.spark = Spark(self.kafka, self.bucket, self.registry, chronicle, rules, decisions)
        self.around = Surroundings(
            self.kafka,
            self.coordinator,
            self.bucket,
            self.registry,
            self.spark,
            self.finished,
            chronicle,
            rules,
            decisions,
            grace_seconds,
        )
        self.members: dict[str, Member] = {}
        self.manifest = manifest
        """That of processes that start from now on."""
        self.may_be_held: set[str] = set()
        """Reasons for which partitions may be held, by what has happened."""
        self.leader_sees: Mapping[str, int] | None = None
        """How many partitions the group's leader sees, when that is not what there is."""
        self.started = 0
        """How many processes have ever been started."""

    def close(self) -> None:
        for member in self.members.values():
            member.process.kill()
        self._in_one_thread.close()

    def check(self) -> None:
        if self.chronicle.violation is not None:
            raise self.chronicle.violation

    # members

    def awake(self) -> list[Member]:
        return [member for member in self.members.values() if not member.stopped]

    def start(self) -> Member:
        self.started += 1
        name = f"member-{self.started}"
        self.members[name] = Member(name, self.manifest, self.around)
        return self.members[name]

    def crash(self, member: Member, *, jobs_too: bool) -> None:
        """kill -9. The group hears of it when the session ends; tasks may go on as zombies for as long as they like."""
        del self.members[member.name]
        self.chronicle.tell(member.name, "is killed{}", ", and its jobs" if jobs_too else "")
        member.process.kill()
        if jobs_too:
            self.spark.kill(member.name)

    def leave(self, member: Member) -> None:
        """A member ends in order: what still runs stays pending, and nothing is committed any more."""
        del self.members[member.name]
        self.chronicle.tell(member.name, "leaves")
        member.process.kill()
        self.coordinator.remove(member.client.member_id)

    def stop(self, member: Member) -> None:
        member.stopped = True
        self.chronicle.tell(member.name, "stands still (SIGSTOP)")

    def go_on(self, member: Member) -> None:
        member.stopped = False
        self.chronicle.tell(member.name, "goes on (SIGCONT)")

    def expel(self, member_id: str) -> None:
        """The group has not heard of a member in time: it is dead, stands still, or cannot be reached."""
        self.chronicle.tell("group", "expels {}", member_id)
        self.coordinator.remove(member_id)

    def dead(self) -> list[str]:
        """Return the member ids that the group knows and that are no awake process's."""
        return sorted(self.coordinator.known - {member.client.member_id for member in self.awake()})

    def complete(self) -> None:
        self.coordinator.complete(self.kafka.topics if self.leader_sees is None else self.leader_sees)

    def fail_over(self) -> None:
        """The coordinator stands still, and may wake up and answer as if it still were it."""
        self.coordinator.fail_over(self.kafka.commits)
        self.may_be_held.add("offset-went-back")

    # what users and Kafka do

    def evolve(self, partition: TopicPartition) -> None:
        """A producer registers another version of the schema, and writes a record by it."""
        self.kafka.produce(partition, [True], self.registry.register(partition.topic))

    def break_schema(self, partition: TopicPartition) -> None:
        """The same with a version that can read none before it."""
        self.kafka.produce(partition, [True], self.registry.register(partition.topic, is_compatible=False))
        self.may_be_held.add("schema-incompatible")

    def mend_schemas(self) -> None:
        """Versions are registered that can read all, and members begin anew, as the message of a hold says."""
        for topic in self.registry.to_mend():
            self.registry.register(topic)
        self.may_be_held.discard("schema-incompatible")
        for member in list(self.members.values()):
            self.leave(member)
            self.start()

    def replay_history(self, partition: TopicPartition, *, deletes_old: bool) -> None:
        """What the group has committed is stored again, as if at once; `replaying` has the steps.

        Args:
            partition: of which.
            deletes_old: whether readers are switched to it, and what it replaces is deleted.
        """
        committed = parse_commit(*self.kafka.commits[partition])
        topic_id, prefix = self.kafka.topic_ids[partition.topic], self.manifest.prefix
        assert committed.metadata is not None
        generation, bounds = committed.metadata.generation + 1, {partition.partition: (0, committed.offset)}
        store = StorePort(AtOnce(), self.around, prefix, documents_fail=False).store
        note = ReplayNote(partition.topic, topic_id, generation, "replay", bounds)
        begin_replay(store, GROUP, note)
        change_current(store, GROUP, note.topic, lambda current: current.begun(topic_id, generation, bounds))
        records = frozenset(
            (topic_id, offset) for offset in self.kafka.log(partition).offsets if offset < committed.offset
        )
        key = ObjectKey(partition, generation, 0, "", prefix)
        self.bucket.put(
            "replay", key, StoredObject(committed.offset, "replay", topic_id, records), keys=None, if_absent=False
        )
        if deletes_old:
            change_current(store, GROUP, note.topic, lambda now: now.switched(generation, bounds).without_old())
            for old in [it for it in self.bucket.objects if it.partition == partition and it.generation < generation]:
                if old.start < committed.offset:
                    self.bucket.delete(old)

    def can_replay_history(self, partition: TopicPartition) -> bool:
        """Whether the group has committed something above which no generation is a replay already."""
        if partition not in self.kafka.commits:
            return False
        committed = parse_commit(*self.kafka.commits[partition])
        left, topic_id = committed.metadata, self.kafka.topic_ids[partition.topic]
        if left is None or left.topic_id != topic_id or committed.offset <= self.kafka.log(partition).start:
            return False
        notes = replays_of(self.around, self.manifest.prefix, partition.topic)
        return all(one.generation <= left.generation for one in notes)

    def replayable(self) -> list[ObjectKey]:
        """Return the objects of quarantine that a replay takes: those of ranges that the group has committed."""
        return [
            key for key, stored in self.bucket.objects.items() if key.path == QUARANTINE and self._done(key, stored)
        ]

    def _done(self, key: ObjectKey, stored: StoredObject) -> bool:
        if key.partition not in self.kafka.commits:
            return False
        committed = parse_commit(*self.kafka.commits[key.partition])
        left = committed.metadata
        if left is None or (left.topic_id, self.kafka.topic_ids[key.partition.topic]) != (stored.topic_id,) * 2:
            return False
        return (left.generation, committed.offset) >= (key.generation, stored.end)

    def retain(self, partition: TopicPartition, count: int) -> None:
        self.kafka.retain(partition, count)
        self.may_be_held.add("data-lost")

    def refuse(self, prefix: str, instead: Manifest) -> None:
        """A place takes nothing more. Members that store there are withdrawn; their jobs may go on."""
        self.bucket.refuse(prefix)
        self.manifest = instead
        if any(member.manifest.generation < instead.generation for member in self.members.values()):
            # Who takes back what a higher one has promised there cannot tell a replay from what it had begun itself.
            self.may_be_held.add("replay-requested")
        for member in [it for it in self.members.values() if it.manifest.prefix == prefix]:
            self.crash(member, jobs_too=False)

    def forget(self) -> None:
        """Everything has died long ago, zombies too."""
        self.end_all()
        self.kafka.forget()

    def reset(self, partition: TopicPartition, offset: int, *, keeps_metadata: bool = False) -> None:
        """The group must be idle for that. Zombies are not allowed for here: docs/design/intents.md says so."""
        self.end_all()
        self.kafka.reset(partition, offset, keeps_metadata=keeps_metadata)
        self.may_be_held.add("replay-requested")

    def fall_back(self, older: Commits) -> None:
        """Kafka shows older commits. Nothing is being executed then: docs/design/intents.md says so."""
        self.end_all()
        self.coordinator.former = None
        self.kafka.fall_back(older)
        self.may_be_held |= {"offset-went-back", "replay-requested"}

    def grow(self, topic: str) -> None:
        """A topic gets a partition more, and nobody has seen it yet."""
        self.leader_sees = self.leader_sees or dict(self.kafka.topics)
        self.kafka.grow(topic)

    def see_all(self) -> None:
        """Everybody's view of the topics is renewed."""
        self.leader_sees = None
        for member in self.members.values():
            member.client.look_at_topics()

    def end_all(self) -> None:
        self.spark.kill()
        for name in sorted(self.members):
            member = self.members.pop(name)
            member.process.kill()
            self.chronicle.tell(name, "is ended")
        for member_id in sorted(self.coordinator.known):
            self.coordinator.remove(member_id)

    # the end

    def settle(self, *, rounds: int, pace: float) -> None:
        """Let everything come to rest, until every record is stored that no person has to decide about.

        Args:
            rounds: how many at most.
            pace: seconds for each.
        """
        for member in self.members.values():
            member.stopped = False
        self.coordinator.former = None
        self.see_all()
        for member_id in self.dead():
            self.coordinator.remove(member_id)
        if not self.members:
            self.start()
        for _ in range(rounds):
            self.chronicle.time += pace
            for member in self.members.values():
                member.client.proceed()
                member.process.proceed()
            self.complete()
            while self.spark.running:
                self.spark.advance(0)
            self.check()
            if self.is_current():
                self.check()
                return
        self.chronicle.violated(f"it never comes to rest: {self.kafka.commits}")

    def decide(self) -> None:
        """Do what the messages of all holds say: raise the generation, accept losses. Then nothing is held."""
        self.end_all()
        notes = [one for topic in self.kafka.topics for one in replays_of(self.around, self.manifest.prefix, topic)]
        highest = max(self.manifest.generation, *(one.generation for one in notes), 0)
        self.manifest = replace(self.manifest, generation=highest + 1, on_data_loss="skip")
        self.chronicle.tell("user", "decides: {}", self.manifest)
        self.may_be_held = set()

    def is_current(self) -> bool:
        """Whether everything is stored, or held with a cause."""
        held = {p: hold for member in self.members.values() for p, hold in member.cycle.states.held().items()}
        for partition, hold in held.items():
            if hold.reason not in self.may_be_held:
                self.chronicle.note(f"{partition} is held without a cause: {hold.message}")
        return all(
            partition in held
            or (partition in self.kafka.commits and self.kafka.commits[partition][0] == self.kafka.log(partition).end)
            for partition in self.kafka.partitions
        )
