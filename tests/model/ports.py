"""The ports of a member's cycle: how it sees the group, Kafka, the bucket and Spark.

Whatever an answer tells the cycle is noted (`Turn.saw`): within a turn, the cycle's state follows from that.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from logpersister.aside import at_once, settle
from logpersister.group.answers import Answer, CommitOutcome, Registered, TopicDescription
from logpersister.group.internals import UnfencedError
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import OutputSchema
from logpersister.member import state_store
from logpersister.member.ports import NoteError
from logpersister.pipeline.work import RangeOutcome, TaskSpec
from logpersister.plan.intents import parse as parse_commit
from logpersister.plan.partitions import Commit
from logpersister.plan.recovery import ReplayedEnd, StoredRange, StoredTail
from logpersister.ranges import Cause, Offset, Range, TopicPartition
from logpersister.registry import RegistryError
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.topics import TopicNote
from tests.model.bucket import GROUP
from tests.model.client import Client
from tests.model.decisions import Fault, Place
from tests.model.ledger import Identity
from tests.model.store import StorePort, Turn
from tests.model.surroundings import Surroundings

T = TypeVar("T")


class Tokens(dict[TopicPartition, int]):
    """Tells ownership tokens from other numbers."""


class GroupPort:
    """`group.membership.Membership` as the cycle sees it."""

    def __init__(self, turn: Turn, client: Client, around: Surroundings) -> None:
        self._turn, self._client, self._around = turn, client, around
        self.release = client.ownership.release

    def ownership(self) -> dict[TopicPartition, int]:
        return self._turn.saw(Tokens(self._client.ownership.tokens()))

    def retain(self, partitions: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        return self._turn.saw(self._client.ownership.retain(partitions))


class RegisterPort:
    """`group.register.GroupRegister` as the cycle sees it."""

    def __init__(self, turn: Turn, client: Client, around: Surroundings) -> None:
        self._turn, self._client, self._around = turn, client, around

    def read(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Registered]:
        """Ask the coordinator, or who was it; then have our membership confirmed by the same broker."""
        decisions, group = self._around.decisions, self._around.coordinator
        if self._turn.saw(decisions.fails(Fault.KAFKA_SILENT)):
            raise ConnectionError("Kafka does not answer")
        fenced = self._around.rules.reads_are_fenced
        if fenced and not self._turn.saw(self._client.may_commit):
            raise UnfencedError("this member is joining the group")
        former = group.former if group.former and decisions.fails(Fault.FORMER_ANSWERS) else None
        if former:
            group.former_has_answered()
        commits = former.commits if former else self._around.kafka.commits
        found: dict[TopicPartition, Registered] = {
            p: parse_commit(*commits[p]) if p in commits else None for p in partitions
        }
        self._turn.saw(found)
        self._turn.may_stand_still(Place.ASKED_COMMITTED)
        known, generation = (former.known, former.generation) if former else (group.known, group.generation)
        confirmed = self._client.may_commit and self._client.member_id in known
        if fenced and not self._turn.saw(confirmed and self._client.generation == generation):
            raise UnfencedError("the broker does not know this member's generation")
        if former:
            self._around.chronicle.tell(self._client.name, "is answered by the former coordinator")
        return found

    def commit(self, commits: Mapping[TopicPartition, Commit], *, promise: bool) -> CommitOutcome:
        outcome = CommitOutcome()
        self._turn.may_stand_still(Place.BEFORE_COMMIT)
        with self._client.ownership.committing(commits, outcome, promise=promise) as allowed:
            if self._turn.saw(bool(allowed)):
                self._send(allowed, outcome)
        return self._turn.saw(outcome)

    def _send(self, commits: Mapping[TopicPartition, Commit], outcome: CommitOutcome) -> None:
        """Send as kafka-python does: again after a lost answer, under the generation that it has by then."""
        decisions, coordinator = self._around.decisions, self._around.coordinator
        for _ in range(2):
            self._turn.may_stand_still(Place.COMMIT_QUEUED)
            if not self._client.may_commit:
                outcome.refused |= commits.keys()
                return
            sender = self._turn.saw(Sender(self._client.member_id, self._client.generation))
            self._turn.may_stand_still(Place.COMMIT_SENT)  # the group may be elsewhere when it arrives
            if decisions.fails(Fault.COMMIT_LOST):
                self._around.chronicle.tell(self._client.name, "sends a commit that gets lost")
            elif sender.member_id not in coordinator.known or sender.generation != coordinator.generation:
                self._around.chronicle.tell(
                    self._client.name, "is refused a commit of generation {}", sender.generation
                )
                outcome.failed |= dict.fromkeys(commits, RuntimeError("not a member of this generation"))
                return
            else:
                self._apply(commits)
                if not decisions.fails(Fault.COMMIT_ANSWER_LOST):
                    outcome.committed |= commits.keys()
                    return
                self._around.chronicle.tell(self._client.name, "never gets the answer to its commit")
            if self._turn.saw(decisions.fails(Fault.COMMIT_OUT_OF_TIME)):
                break
        outcome.failed |= dict.fromkeys(commits, TimeoutError("no answer"))

    def _apply(self, commits: Mapping[TopicPartition, Commit]) -> None:
        for partition, commit in commits.items():
            value = commit.committed
            self._around.kafka.commit(self._client.name, partition, value.offset, value.text)


class Sender:
    """In whose name a commit is on its way."""

    def __init__(self, member_id: str, generation: int) -> None:
        self.member_id, self.generation = member_id, generation


class OffsetsPort:
    """`group.offsets.LogReader`: an answer may be lost, and the world may move on while it is on its way."""

    def __init__(self, turn: Turn, around: Surroundings) -> None:
        self._turn, self._around = turn, around

    def log_starts(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        with self._asked(Place.ASKED_LOG):
            return self._turn.saw(self._of_leaders({p: self._around.kafka.log(p).start for p in partitions}))

    def ends(self, partitions: Iterable[TopicPartition]) -> Answer[Offset]:
        with self._asked(Place.ASKED_LOG):
            return self._turn.saw(self._of_leaders({p: self._around.kafka.log(p).end for p in partitions}))

    def first_since(self, timestamps: Mapping[TopicPartition, int]) -> Answer[tuple[Offset, int] | None]:
        found = {p: self._around.kafka.first_since(p, since) for p, since in timestamps.items()}
        self._turn.saw({p: None if first is None else first[0] for p, first in found.items()})
        return Answer(found)

    def _of_leaders(self, offsets: Mapping[TopicPartition, Offset]) -> Answer[Offset]:
        """One partition cannot be read, and the others can."""
        if not offsets or not self._around.decisions.fails(Fault.NO_LEADER):
            return Answer(dict(offsets))
        away = min(offsets)
        return Answer({p: offset for p, offset in offsets.items() if p != away}, {away: ConnectionError("no leader")})

    def describe(self, topics: Iterable[str]) -> dict[str, TopicDescription]:
        with self._asked(Place.ASKED_LOG):
            kafka = self._around.kafka
            return self._turn.saw(
                {
                    topic: TopicDescription(kafka.topic_ids[topic], dict.fromkeys(range(kafka.topics[topic]), 1))
                    for topic in topics
                }
            )

    def topics_matching(self, matches: Callable[[str], bool]) -> list[str]:
        return sorted(topic for topic in self._around.kafka.topics if matches(topic))

    @contextmanager
    def _asked(self, where: Place) -> Iterator[None]:
        if self._turn.saw(self._around.decisions.fails(Fault.KAFKA_SILENT)):
            raise ConnectionError("Kafka does not answer")
        yield
        self._turn.may_stand_still(where)


class StateStorePort:
    """The bucket behind the port `StateStore`, as `member.state_store.BucketStateStore` shows it."""

    def __init__(
        self,
        who: str,
        turn: Turn,
        around: Surroundings,
        resource: LogPersister,
        replay: Mapping[TopicPartition, Range] | None,
    ) -> None:
        self._who, self._turn, self._around, self._replay = who, turn, around, replay
        storage = resource.spec.storage
        self._prefix, self._keys = storage.prefix, storage.secret_name
        self._store = StorePort(turn, around, storage.prefix, documents_fail=False)
        self._product = state_store.BucketStateStore(
            self._store.store,
            GROUP,
            resource.spec.generation,
            "",
            lambda _: self._store.store,
            in_folders=lambda _: False,
            replay=replay,
        )
        """Decides what belongs to whom."""

    def stored_tails(
        self, partitions: Iterable[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        self._ask()
        stored_tails: dict[TopicPartition, StoredTail | ForeignObjectError] = {}
        of_topics: dict[str, list[TopicPartition]] = {}
        for partition in partitions:
            of_topics.setdefault(partition.topic, []).append(partition)
        for some in of_topics.values():
            notes, listed = self._product._listed(some, generation)
            for partition in some:
                ends = [end for note in notes for end in state_store._end(note, partition)]
                stored_tails[partition] = self._tail(
                    listed[partition], generation, ends if self._replay is None else ()
                )
        return self._turn.saw(stored_tails)

    def _tail(
        self, listed: Mapping[int, Mapping[Offset, tuple[object, str]]], generation: int, ends: Iterable[ReplayedEnd]
    ) -> StoredTail:
        last, *before = [*sorted(listed, reverse=True), generation]
        ranges = self._ranges(listed.get(last, {}))
        earlier = self._ranges(listed.get(before[0], {})) if before and before[0] < last else ()
        return StoredTail(last, ranges, earlier[-1] if earlier else None, tuple(ends))

    def _ranges(self, listed: Mapping[Offset, tuple[object, str]]) -> tuple[StoredRange, ...]:
        """Return the ranges of objects of which one was listed each, by rising start."""
        found = []
        for _, (_, name) in sorted(listed.items()):
            key = self._store.keys[name]
            it = self._around.bucket.objects.get(key)
            if it is not None:
                whole = not key.path and not (it.parser and self._around.rules.quarantine_is_allowed_for)
                found.append(StoredRange(key.start, it.end, GROUP, it.revision, it.topic_id, whole, it.horizon))
        return tuple(found)

    def ahead(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError | None]:
        self._ask()
        if not self._around.rules.looks_ahead:
            return dict.fromkeys(positions)
        objects = self._around.bucket.objects
        until = {} if self._replay is None else {p: range_.end for p, range_ in self._replay.items()}
        found: dict[TopicPartition, Offset | StorageError | None] = {
            partition: min(
                (
                    key.start
                    for key in objects
                    if (key.partition, key.generation, key.prefix) == (partition, generation, self._prefix)
                    and position <= key.start < until.get(partition, key.start + 1)
                ),
                default=None,
            )
            for partition, position in positions.items()
        }
        if self._replay is None and self._around.bucket.documents:
            found |= self._product._replayed({p: it for p, it in positions.items() if found[p] is None}, generation)
        self._turn.saw(found)
        self._turn.may_stand_still(Place.LISTED)
        return found

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        self._ask()
        self._around.bucket.revisions[self._prefix, revision] = document

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        self._ask()
        prefix = place.partition("/")[2]
        self._around.bucket.check_keys(prefix, self._keys)
        found = self._around.bucket.revisions.get((prefix, revision))
        self._turn.saw(found is None)  # the rest of it follows from its name
        return found

    def bind_topics(self, notes: Mapping[str, TopicNote], generation: int) -> Mapping[str, TopicNote | NoteError]:
        return self._turn.saw({topic: self._bind(topic, note, generation) for topic, note in notes.items()})

    def _bind(self, topic: str, note: TopicNote, generation: int) -> TopicNote | NoteError:
        try:
            self._ask()
        except StorageError as error:
            return error
        return self._around.bucket.topics.setdefault((self._prefix, topic, generation), note)

    def first_note(self, topic: str, topic_id: str) -> TopicNote | None:
        self._ask()
        noted = self._around.bucket.topics.items()
        found = {key[2]: note for key, note in noted if key[:2] == (self._prefix, topic) and note.topic_id == topic_id}
        return self._turn.saw(found[min(found)] if found else None)

    def note_selection(self, selection: Mapping[str, Any], topics: Sequence[str]) -> Sequence[str]:
        self._ask()
        return self._turn.saw(self._around.bucket.selections.setdefault(self._prefix, tuple(topics)))

    def record_loss(self, lost: Range, topic_id: str | None, cause: Cause) -> None:
        self._ask()
        assert topic_id is not None
        if self._around.rules.losses_are_recorded:
            self._around.chronicle.tell(self._who, "records {} as {}", lost, cause)
            identity = Identity(lost.partition, topic_id)
            self._around.kafka.ledger.loss(identity, lost.start, lost.end, cause, self._prefix)

    def _ask(self) -> None:
        if self._turn.saw(self._around.decisions.fails(Fault.BUCKET_SILENT)):
            raise StorageError("unreachable", "the bucket does not answer")


class SchemasPort:
    """The schema registry."""

    place = ""

    def __init__(self, turn: Turn, around: Surroundings) -> None:
        self._turn, self._around = turn, around

    def of(self, topic: str) -> "SchemasPort":
        return self

    def current(self, topic: str) -> OutputSchema:
        if self._turn.saw(self._around.decisions.fails(Fault.REGISTRY_SILENT)):
            raise RegistryError("unreachable", "the registry does not answer")
        version = self._turn.saw(self._around.registry.latest(topic))
        self._turn.may_stand_still(Place.ASKED_SCHEMA)
        return OutputSchema(version, f'"version {version}"')

    def unreadable(self, topic: str, now: OutputSchema, before: OutputSchema) -> str | None:
        reads = self._turn.saw(self._around.registry.can_read(topic, now.version, before.version))
        return None if reads else f"version {now.version} has a field that version {before.version} lacks"


class LateAnswer(Future[T]):
    """An answer that is on its way until the turn that asked is over."""

    arrived = False

    def done(self) -> bool:
        return self.arrived


class AsidePort:
    """Servers that only some topics need."""

    def __init__(self, turn: Turn, around: Surroundings) -> None:
        self._turn, self._around = turn, around
        self._late: list[LateAnswer[Any]] = []

    def begin_turn(self) -> None:
        for answer in self._late:
            answer.arrived = True
        self._late.clear()

    def __call__(self, question: Callable[[], T], _seconds: float) -> "Future[T]":
        if not self._turn.saw(self._around.decisions.fails(Fault.ANSWER_LATE)):
            return at_once(question)
        answer = LateAnswer[T]()
        settle(answer, question)
        self._late.append(answer)
        return answer


class HorizonsPort:
    """`member.horizons.BucketHorizons`, of which all has been read that is asked for."""

    def __init__(self, turn: Turn, around: Surroundings) -> None:
        self._turn, self._around = turn, around

    def now(self, topics: Collection[str]) -> Mapping[str, int | None]:
        return self._turn.saw({topic: self._around.finished.read(topic) for topic in sorted(topics)})


class JobsPort:
    """Spark as one member sees it."""

    cores = 2

    def __init__(self, who: str, turn: Turn, around: Surroundings) -> None:
        self._who, self._turn, self._around = who, turn, around

    def submit(self, tasks: Sequence[TaskSpec]) -> "Future[list[RangeOutcome]]":
        return self._around.spark.submit(self._who, tasks, self._turn.saw)


class Sampler:
    """Has an idea of the size of records from the start."""

    def __init__(self, who: str, around: Surroundings) -> None:
        self._who, self._around = who, around

    def sample(self, partition: object, start: Offset) -> tuple[int, int] | None:
        return 1, self._around.decisions.bytes_per_record(self._who)
