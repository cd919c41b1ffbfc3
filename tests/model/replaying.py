"""Replays of history, switches and readers, step by step, beside a live group.

`logpersister replay` is a process that plans (`replay.planning`), and then a member of a group of its own that stores
what was planned (`member.bounded`). `logpersister switch` (`replay.switching`) and readers are processes, too. Each may
stand still, fail or be killed between any two requests, and any of them may be started twice.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from logpersister.backup.listing import TopicBackup
from logpersister.backup.ranges import BackupObject, partition_backups
from logpersister.group.answers import Answer, Registered, TopicDescription
from logpersister.group.offsets import OffsetReader
from logpersister.group.replay_group import replay_group
from logpersister.member.bounded import Replay
from logpersister.pipeline.source import ReplaySource
from logpersister.plan.intents import parse as parse_commit
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.replay.moments import BackupMoments
from logpersister.replay.planning import PlannedTopic, Planner, ReplayError, Wish
from logpersister.replay.switching import SwitchError, change_to, replaced
from logpersister.storage.current import Current, change_current, get_current, look_by_current
from logpersister.storage.errors import StorageError
from logpersister.storage.replayed import ReplayNote, end_replay, list_replayed
from tests.model.bucket import GROUP
from tests.model.decisions import Decisions, Fault, Place
from tests.model.kafka import Coordinator, Kafka
from tests.model.ledger import Identity
from tests.model.member import Manifest, Member
from tests.model.ports import OffsetsPort
from tests.model.processes import Process
from tests.model.readers import Readers
from tests.model.store import StorePort
from tests.model.surroundings import Surroundings


class Command:
    """A process that does one thing, and ends."""

    def __init__(self, name: str, around: Surroundings, body: Callable[["Command"], None]) -> None:
        """Begin; `body` gets the command, which it asks through."""
        self.name, self.is_over = name, False
        self._around, self._body = around, body
        self.waits_until = 0.0
        self.process = Process(self._run)

    def may_stand_still(self, where: Place) -> None:
        decisions: Decisions = self._around.decisions
        if decisions.stands_still(where):
            self.waits_until = self._around.chronicle.time + decisions.silence()
            self.process.pause()

    def saw(self, answer: Any) -> Any:
        return answer

    def _run(self) -> None:
        try:
            self._body(self)
        except (ConnectionError, StorageError, ReplayError, SwitchError) as error:
            self._around.chronicle.tell(self.name, "gives up: {}", error)
        self.is_over = True


class ReplayLedger:
    """What must hold of the group of a replay: it commits what its generation has of its bounds, and loses nothing."""

    def __init__(self, around: Surroundings, generation: int) -> None:
        self._around, self._generation = around, generation
        self._committed: dict[Identity, Offset] = {}

    def commit(self, partition: TopicPartition, offset: Offset, metadata: str) -> None:
        kafka, told = self._around.kafka, self._around.chronicle.violated
        identity, parsed = kafka.identity(partition), parse_commit(offset, metadata).metadata
        assert parsed is not None
        start, end = kafka.ledger.bounds(self._generation).get(partition, (0, 0))
        if not start <= offset <= end or parsed.generation != self._generation:
            told(f"the replay of [{start}, {end}) into {self._generation} commits {metadata} of {partition}")
        if offset < self._committed.get(identity, 0):
            told(f"the replay into {self._generation} goes back to {offset} in {partition} (3)")
        self._committed[identity] = offset
        log = kafka.history[identity]
        for record in (it for it in log.offsets if start <= it < offset):
            if not kafka.ledger.holds(identity, self._generation, record):
                told(f"{partition}@{record} is in no object of {self._generation}, and its replay is at {offset} (4)")

    def loss(self, identity: Identity, start: Offset, end: Offset, cause: str, _prefix: str) -> None:
        self._around.chronicle.violated(f"a replay records [{start}, {end}) of {identity.partition} as {cause} (5)")

    def forgotten(self, partition: TopicPartition) -> None:
        self._committed.pop(self._around.kafka.identity(partition), None)


class ReplayGroup:
    """The consumer group of one replay, with its members."""

    def __init__(self, around: Surroundings, generation: int, manifest: Manifest, wish: Any) -> None:
        self.generation, self.manifest = generation, manifest
        self.ledger = ReplayLedger(around, generation)
        self.kafka: Kafka = around.kafka.of_another_group(self.ledger)
        self.coordinator = Coordinator(around.chronicle, wish)
        self.around = replace(around, kafka=self.kafka, coordinator=self.coordinator)
        self.members: list[tuple[Member, tuple[ReplayNote, ...]]] = []

    def complete(self) -> None:
        """Expel who is dead, and let the others have their shares."""
        alive = {member.client.member_id for member, _ in self.members}
        for member_id in sorted(self.coordinator.known - alive):
            self.coordinator.remove(member_id)
        topics = {note.topic for _, notes in self.members for note in notes}
        self.coordinator.complete({topic: self.kafka.topics[topic] for topic in topics})

    def is_whole(self, notes: Iterable[ReplayNote]) -> bool:
        """Whether all of it is committed, as the command asks at its end."""
        ranges = {p: range_ for note in notes for p, range_ in note.ranges().items()}
        return all(p in self.kafka.commits and self.kafka.commits[p][0] >= it.end for p, it in ranges.items())


class ReaderPort:
    """`group.offsets.OffsetReader`: what a planner asks Kafka."""

    def __init__(self, turn: Command, around: Surroundings, groups: Mapping[str, ReplayGroup]) -> None:
        self._turn, self._around, self._groups = turn, around, groups
        self._offsets = OffsetsPort(turn, around)
        self.describe: Callable[[Iterable[str]], dict[str, TopicDescription]] = self._offsets.describe
        self.first_since = self._offsets.first_since

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        return self._offsets.log_starts(partitions)

    def committed(
        self, partitions: Iterable[TopicPartition], group: str | None = None
    ) -> dict[TopicPartition, Registered]:
        """Return what a coordinator says; of the live group the former one may answer."""
        commits = self._around.kafka.commits if group is None else self._groups[group].kafka.commits
        former = self._around.coordinator.former
        if group is None and former and self._around.decisions.fails(Fault.FORMER_ANSWERS):
            commits = former.commits
        found: dict[TopicPartition, Registered] = {
            p: parse_commit(*commits[p]) if p in commits else None for p in partitions
        }
        self._turn.may_stand_still(Place.ASKED_COMMITTED)
        return found


class Replays:
    """All replays of a group, and who else is at work on its outputs."""

    def __init__(self, around: Surroundings, manifest: Callable[[], Manifest], chances: Any, wish: Any) -> None:
        """Begin with none.

        Args:
            manifest: returns that of the live group.
            chances: `Chances`.
            wish: who gets a partition.
        """
        self._around, self._manifest, self._chances, self._wish = around, manifest, chances, wish
        self._prefix = manifest().prefix
        self.groups: dict[str, ReplayGroup] = {}
        self.commands: list[Command] = []
        self.readers = Readers(around.chronicle, around.kafka, around.bucket, self._prefix)
        self._started = 0
        self.may_be_held: set[str] = set()

    # what happens

    def begin(self) -> None:
        """Somebody begins a replay, or the same one again; or two people do."""
        random = self._chances.random
        generations = [group.generation for group in self.groups.values()]
        new = max([self._manifest().generation, *generations]) + 1
        if generations and random.random() < 0.6:
            self.start(random.choice(generations))
        else:
            self.start(new)
        if random.random() < 0.3:
            self.start(new + 1)

    def start(self, generation: int) -> None:
        """Start a process that replays into a generation."""
        group, random = replay_group(GROUP, generation), self._chances.random
        if group not in self.groups:
            manifest = replace(self._manifest(), generation=generation, folders=random.random() < 0.5)
            self.groups[group] = ReplayGroup(self._around, generation, manifest, self._wish)
        times = sorted(int(self._around.chronicle.time * 1000 * random.random()) for _ in range(2))
        now = int(self._around.chronicle.time * 1000)
        since, until = (random.choice((None, now - random.randint(0, 300_000))) for _ in times)
        wish = Wish(since, until if since is None or until is None or since < until else None)
        has_backup = random.random() < 0.7
        self._run("replay", lambda turn: self._replay(turn, self.groups[group], wish, has_backup=has_backup))

    def switch(self) -> None:
        """Somebody switches a topic, to a replay or back, and perhaps deletes what it replaces."""
        random = self._chances.random
        topic = random.choice(sorted(self._around.kafka.topics))
        generations = [group.generation for group in self.groups.values()]
        generation, deletes = random.choice([self._manifest().generation, 1, *generations * 2]), random.random() < 0.3
        self._run("switch", lambda turn: self.switch_to(turn, topic, generation, delete_old=deletes))

    def read(self) -> None:
        """Somebody reads a topic."""
        topic = self._chances.random.choice(sorted(self._around.kafka.topics))
        self._run("reader", lambda turn: self._read(turn, topic))

    def go_on(self) -> None:
        """Let one of the processes, or a group, do what it has to do."""
        random, now = self._chances.random, self._around.chronicle.time
        steps: list[Callable[[], object]] = [
            command.process.proceed for command in self.commands if command.waits_until <= now
        ]
        for group in self.groups.values():
            steps += [group.complete] if group.members else []
            for member, _ in group.members:
                steps += [] if member.stopped else [member.client.proceed]
                steps += [] if member.stopped or member.waits_until > now else [member.process.proceed]
        if steps:
            random.choice(steps)()
        self.take_ended()

    def disturb(self) -> None:
        """Kill, freeze, wake or expel one of the processes."""
        random = self._chances.random
        members = [(group, one) for group in self.groups.values() for one in group.members]
        if self.commands and random.random() < 0.3:
            command = random.choice(self.commands)
            command.process.kill()
            self.commands.remove(command)
            self._around.chronicle.tell(command.name, "is killed")
        elif members:
            group, (member, notes) = random.choice(members)
            what = random.choice(("kill", "kill", "freeze", "expel"))
            self._around.chronicle.tell("replays", "{} {}", what, member.name)
            if what == "kill":
                group.members.remove((member, notes))
                member.process.kill()
                if random.random() < 0.5:
                    self._around.spark.kill(member.name)
            elif what == "expel":
                group.coordinator.remove(member.client.member_id)
            else:
                member.stopped = not member.stopped

    def forget(self) -> None:
        """Kafka forgets what a group of replays has committed, which has no members any more."""
        for group in self.groups.values():
            for member, _ in group.members:
                member.process.kill()
                self._around.spark.kill(member.name)
            group.members.clear()
            group.kafka.forget()

    def close(self) -> None:
        members = [member.process for group in self.groups.values() for member, _ in group.members]
        for process in [*members, *(command.process for command in self.commands)]:
            process.kill()

    def take_ended(self) -> None:
        """Let members of replays that are whole note that, and forget commands that are over."""
        for group in self.groups.values():
            for member, notes in list(group.members):
                if group.is_whole(notes) and not member.stopped and not member.process.in_the_middle:
                    group.members.remove((member, notes))
                    member.process.kill()
                    self._run("end of replay", partial(self._note_end, notes=notes))
        for command in [command for command in self.commands if command.is_over]:
            command.process.kill()
            self.commands.remove(command)

    # the end

    def come_to_rest(self, most: int) -> None:
        """Let all replays end that can, then switch to each and back; at every moment readers see each record once."""
        for _ in range(most):
            for group in self.groups.values():
                for member, _ in group.members:
                    member.stopped = False
                if not self.commands and not group.members and not self._is_done(group):
                    self.start(group.generation)
                group.complete()
                for member, _ in list(group.members):
                    member.client.proceed()
                    member.process.proceed()
            for command in list(self.commands):
                command.process.proceed()
            while self._around.spark.running:
                self._around.spark.advance(0)
            self.take_ended()
            self._around.chronicle.time += 1.0
            if not self.commands and all(self._is_at_rest(group) for group in self.groups.values()):
                break
        else:
            self._around.chronicle.violated(
                f"replays never come to rest: {[it.kafka.commits for it in self.groups.values()]}"
            )
        self._switch_through()

    def _switch_through(self) -> None:
        for generation in [*(group.generation for group in self.groups.values()), 1]:
            for topic in sorted(self._around.kafka.topics):
                self._run("switch", partial(self.switch_to, topic=topic, generation=generation, delete_old=False))
                self.commands.pop().process.proceed()
                self.readers.look()
                if any((it.topic, it.generation, it.done) == (topic, generation, True) for it in self._notes()):
                    self.readers.look_at(topic, generation)

    def _is_done(self, group: ReplayGroup) -> bool:
        notes = [note for note in self._notes() if note.generation == group.generation]
        return bool(notes) and all(note.done for note in notes)

    def _is_at_rest(self, group: ReplayGroup) -> bool:
        """Whether a replay is done, was refused, or waits for a person: that is, for what Kafka and backup lack."""
        if not group.members:
            return True
        held = {p: hold for member, _ in group.members for p, hold in member.cycle.states.held().items()}
        for partition, hold in held.items():
            if hold.reason not in self.may_be_held:
                self._around.chronicle.note(f"{partition} of a replay is held without a cause: {hold.message}")
        ranges = {p: it for _, notes in group.members for note in notes for p, it in note.ranges().items()}
        commits = group.kafka.commits
        return bool(held) and all(p in held or commits.get(p, (-1, ""))[0] >= it.end for p, it in ranges.items())

    def _notes(self) -> Sequence[ReplayNote]:
        store = StorePort(Command("", self._around, lambda _: None), self._around, self._prefix, documents_fail=False)
        return [note for topic in self._around.kafka.topics for note in list_replayed(store.store, GROUP, topic)]

    # what the commands do, as `cli.replay` and `cli.switch` put it together

    def _run(self, what: str, body: Callable[[Command], None]) -> None:
        self._started += 1
        self.commands.append(Command(f"{what}-{self._started}", self._around, body))

    def _store(self, turn: Command) -> Any:
        return StorePort(turn, self._around, self._prefix).store

    def _replay(self, turn: Command, group: ReplayGroup, wish: Wish, *, has_backup: bool) -> None:
        offsets = cast("OffsetReader", ReaderPort(turn, self._around, self.groups))
        moments = cast("BackupMoments", self) if has_backup else None
        revision = group.manifest.resource()[1].hash
        planner = Planner(self._store(turn), GROUP, group.generation, revision, offsets, moments, kafka=True)
        backups = {topic: self._backup(topic) if has_backup else None for topic in self._around.kafka.topics}
        planned = [planner.plan(topic, backup, wish) for topic, backup in sorted(backups.items())]
        begun: list[PlannedTopic] = []
        if any(one.note.bounds for one in planned):
            begun = [planner.begin(one) for one in planned]
        left = tuple(one.note for one in begun if not one.note.done)
        cuts = {p: offsets for one in begun for p, offsets in one.cuts().items()}
        if not left:
            return
        bounds = {p: range_ for note in left for p, range_ in note.ranges().items()}
        backup = {p: it for of in backups.values() if of is not None for p, it in of.partitions.items()}
        source = ReplaySource(None, kafka=True)
        replay = Replay(replay_group(GROUP, group.generation), bounds, source, backup if has_backup else None, cuts)
        manifest = replace(group.manifest, topics=tuple(note.topic for note in left))
        group.members.append((Member(f"{turn.name}-{group.generation}", manifest, group.around, replay), left))

    def _note_end(self, turn: Command, notes: Iterable[ReplayNote]) -> None:
        for note in notes:
            end_replay(self._store(turn), GROUP, note)

    def switch_to(self, turn: Command, topic: str, generation: int, *, delete_old: bool) -> None:
        """Let a generation of a topic count."""
        store = self._store(turn)
        notes = list(list_replayed(store, GROUP, topic))
        if not notes:
            return
        change_current(store, GROUP, topic, change_to(store, topic, generation, notes, delete_old=delete_old))
        self._around.chronicle.tell(turn.name, "has switched {} to {}, deletes: {}", topic, generation, delete_old)
        if delete_old:
            for listed in replaced(store, topic, lambda: get_current(store, GROUP, topic)):
                store.delete_all([listed.key])

    def _read(self, turn: Command, topic: str) -> None:
        store, kafka = self._store(turn), self._around.kafka
        partitions = [partition for partition in kafka.partitions if partition.topic == topic]
        expected = {partition: self.readers.expected(partition) for partition in partitions}

        def look(current: Current) -> dict[TopicPartition, Counter[Offset]]:
            seen: dict[TopicPartition, Counter[Offset]] = {partition: Counter() for partition in kafka.partitions}
            for name, listed in store.inventory(topic):
                found = self._around.bucket.objects.get(store.keys[listed.key])
                if current.counts(name) and found is not None:
                    seen[name.topic_partition].update(offset for _, offset in found.records)
            return seen

        seen = look_by_current(store, GROUP, topic, look)
        for partition, offsets in expected.items():
            self.readers.judge(partition, seen[partition], offsets, f"as {turn.name}")

    # a backup that has all that ever was, and when

    def _backup(self, topic: str) -> TopicBackup:
        kafka = self._around.kafka
        objects = [
            BackupObject(str(p), Range(p, 0, log.end), 1, len(log.offsets), log.offsets[0], log.offsets[-1])
            for p in kafka.partitions
            if p.topic == topic and (log := kafka.log(p)).offsets
        ]
        return TopicBackup(kafka.topic_ids[topic], kafka.topics[topic], partition_backups(objects))

    def before(self, backup: Any, moment: int) -> Offset:
        """Return an offset before which no record is as late as a time (`BackupMoments`)."""
        found = [offset for offset, time in self._times(backup) if time < moment]
        return found[-1] if found else 0

    def behind(self, backup: Any, moment: int) -> Offset:
        """Return an offset from which on all records are as late as a time, or later."""
        return next((offset for offset, time in self._times(backup) if time >= moment), int(backup.end))

    def _times(self, backup: Any) -> list[tuple[Offset, int]]:
        log = self._around.kafka.log(backup.partition)
        return [(offset, int(time * 1000)) for offset, time in zip(log.offsets, log.times, strict=True)]
