"""What must hold, whatever happens. Shares nothing with the code under test but names, and how a mark is read.

1. No record is in two objects of one generation, at any moment. Only when a place (bucket and prefix) has refused to
   take more, what was promised for it may be in one object there and in one of another place.
2. What an object holds is never taken away: it is replaced by itself, or by more of the same range.
3. A committed offset of the group moves forward only, unless a user has set it.
4. When it moves over a record, that record is in an object, or its loss is recorded.
5. A loss is recorded only where Kafka has really lost the records, or a user has skipped them; never of what is
   committed, nor of a range that is stored as a whole. So it excuses nothing that was stored.
6. A record is in two generations only when a replay was asked for: by an offset, or in a generation of its own.
7. The rows of a range are made by one schema, whoever makes them, and it is as new as that of each record.
8. The newest event that a committed offset names is one before the offset, and none that is older than what was named
   before; it may be missing only where somebody else has set the offset.
9. The late records of a range are told apart by one horizon, whoever stores it, and each record stands where that says.
   No promise names a horizon above what is finished.
10. The snapshot of a revision is in the bucket when a promise names it: whoever takes that over executes it by this.
11. No range is made by a version of the schema that cannot read that of the range before it, in one generation, unless
   a user has set the offset, as what is skipped has no schema.

Records are told apart by topic id, partition and offset: a topic that is made again has other records.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from logpersister.plan.intents import parse
from logpersister.ranges import Offset, TopicPartition
from tests.model.chronicle import Chronicle


class Identity(NamedTuple):
    """A partition of one incarnation of a topic."""

    partition: TopicPartition
    topic_id: str


class ObjectKey(NamedTuple):
    """The name of an object, taken apart."""

    partition: TopicPartition
    generation: int
    start: Offset
    path: str
    prefix: str = ""
    clock: float = 0.0
    """Part of the name only where a mutant makes it so."""
    is_replay: bool = False
    """Whether it holds what a replay has taken out of quarantine."""


@dataclass(frozen=True)
class StoredObject:
    """An object's metadata and content."""

    end: Offset
    revision: str
    topic_id: str
    records: frozenset[tuple[str, Offset]]
    schema: int = 1
    """Version of the schema by which its rows are made."""
    parser: bool = False
    """Whether others of its range may be in quarantine."""
    horizon: int | None = None
    """By which late records are told apart; None: none is late."""


@dataclass
class Log:
    """One partition: offsets with gaps, of which the oldest are deleted by retention."""

    start: Offset = 0
    end: Offset = 0
    offsets: list[Offset] = field(default_factory=list)
    """Of all records that ever were."""
    times: list[float] = field(default_factory=list)
    """When each of these was written; they rise."""
    schemas: dict[Offset, int] = field(default_factory=dict)
    """Of records that are written by a later version of the schema than the first."""


@dataclass
class Account:
    """What the group has said of a partition."""

    committed: Offset | None = None
    generation: int = 0
    """Of the last commit."""
    floor: int = 0
    """The generation that has to hold what is committed from now on: a replay is one of a higher generation."""
    floor_from: Offset = 0
    """From where on it has to."""
    forgotten: bool = False
    newest: int | None = None
    """Event that the last commit named."""


def is_refused(offset: Offset, schema: int) -> bool:
    """Whether a parser refuses a record: some are rows by every other version of the schema only."""
    return offset % 3 == 1 and schema % 2 == 1


def event_time(offset: Offset) -> int:
    """Return the time of a record, by a field of its value: in no order."""
    return offset * 7 % 11


def is_late(offset: Offset, horizon: int | None) -> bool:
    """Whether a record came when its folder was finished: each folder holds one unit of time."""
    return horizon is not None and event_time(offset) + 1 <= horizon


class Ledger:
    """Looks at every put and every commit."""

    def __init__(self, chronicle: Chronicle, logs: dict[Identity, Log]) -> None:
        self.start_from = "earliest"
        """Where the group begins."""
        self.finished_to: Callable[[str], int] = lambda _topic: -1
        """Returns up to when the folders of a topic are finished."""
        self.has_snapshot: Callable[[str, str], bool] = lambda _prefix, _revision: True
        """Returns whether the snapshot of a revision is under a prefix."""
        self.can_read: Callable[[str, int, int], bool] = lambda _topic, _version, _before: True
        """Returns whether rows can be made by a version of a topic's schema of all that another one has written."""
        self._chronicle = chronicle
        self._logs = logs
        self._holders: dict[tuple[Identity, int, Offset], set[ObjectKey]] = defaultdict(set)
        self._accounts: dict[Identity, Account] = defaultdict(Account)
        self._reset: dict[Identity, Offset] = {}
        """Not yet seen by a member."""
        self._set_forward: dict[Identity, Offset] = {}
        self._losses: dict[Identity, list[tuple[Offset, Offset]]] = defaultdict(list)
        self._schemas: dict[tuple[ObjectKey, str], int] = {}
        """By range."""
        self._horizons: dict[tuple[ObjectKey, str], int | None] = {}
        """The same."""
        self._beside_quarantine: set[ObjectKey] = set()
        """Objects of whose ranges others may be in quarantine: none of them proves that the range is stored."""
        self._sources: dict[ObjectKey, StoredObject] = {}
        """Objects of quarantine that were replayed: their records are elsewhere; if they return, they are not live."""
        self._refusing: set[str] = set()
        self._replayed: set[Identity] = set()
        """Of which an offset went back: a higher generation may store them again."""
        self._replays: dict[tuple[TopicPartition, int], tuple[Offset, Offset]] = {}
        """Bounds of replays of history, by generation."""
        self.stored: dict[Identity, set[Offset]] = defaultdict(set)
        """Records that have ever been in an object of members."""
        self._late: set[Identity] = set()
        """Partitions that were added when the group had begun."""

    def put(self, key: ObjectKey, before: StoredObject | None, now: StoredObject) -> None:
        """An object becomes visible."""
        taken = before.records - now.records if before else frozenset()
        if taken:
            self._chronicle.violated(f"{key} held {sorted(taken)}, which are gone from it now (2)")
        if now.parser:
            self._beside_quarantine.add(key)
        self._check_schema(key, now)
        self._check_horizon(key, now)
        if key in self._sources:
            source = self._sources[key]
            if (now.end, now.records) != (source.end, source.records):
                self._chronicle.violated(f"{key} was replayed, and comes back with other records or another end (1)")
            return
        for topic_id, offset in now.records:
            holders = self._holders[Identity(key.partition, topic_id), key.generation, offset]
            holders.add(key)
            if len(holders) > 1 and not self._one_was_refused(holders):
                self._chronicle.violated(f"{key.partition}@{offset} is stored twice: {sorted(holders)} (1)")
            if not self.is_of_replay(key):
                self.stored[Identity(key.partition, topic_id)].add(offset)
                self._check_generations(Identity(key.partition, topic_id), key.generation, offset)

    def replay_begins(self, note: Mapping[str, Any]) -> None:
        """A replay of history is noted, before its first object."""
        for number, (start, end) in note["bounds"].items():
            self._replays[TopicPartition(note["topic"], int(number)), note["generation"]] = start, end

    def is_of_replay(self, key: ObjectKey) -> bool:
        """Whether an object is within the bounds of a replay of history into its generation."""
        start, end = self._replays.get((key.partition, key.generation), (0, 0))
        return start <= key.start < end

    def bounds(self, generation: int) -> dict[TopicPartition, tuple[Offset, Offset]]:
        """Return what the replay into a generation stores."""
        return {partition: span for (partition, of), span in self._replays.items() if of == generation}

    def holds(self, identity: Identity, generation: int, offset: Offset) -> bool:
        """Whether a generation has a record."""
        return bool(self._holders.get((identity, generation, offset)))

    def committed(self, identity: Identity) -> Offset:
        """Return up to where the group has ever committed."""
        return self._accounts[identity].committed or 0

    def replay(self, source: ObjectKey, key: ObjectKey, stored: StoredObject) -> None:
        """What an object of quarantine holds is in another object from now on."""
        self._sources[source] = stored
        self._beside_quarantine.add(key)
        for topic_id, offset in stored.records:
            holders = self._holders[Identity(key.partition, topic_id), key.generation, offset]
            holders.discard(source)
            holders.add(key)

    def _check_schema(self, key: ObjectKey, now: StoredObject) -> None:
        range_ = key._replace(path="", clock=0.0)
        before = self._schemas.setdefault((range_, now.topic_id), now.schema)
        if before != now.schema:
            self._chronicle.violated(f"{key} has rows by schema {now.schema}, and before by {before} (7)")
        self._check_before(range_, now)
        for topic_id, offset in now.records:
            of_record = self._logs[Identity(key.partition, topic_id)].schemas.get(offset, 1)
            if of_record > now.schema:
                self._chronicle.violated(
                    f"{key.partition}@{offset} is written by schema {of_record}, and its row made by {now.schema} (7)"
                )

    def _check_before(self, range_: ObjectKey, now: StoredObject) -> None:
        """Whether the schema can read that of the range before."""
        identity = Identity(range_.partition, now.topic_id)
        if identity in self._set_forward:
            return
        same = range_.partition, range_.generation, range_.prefix
        others = [
            (key.start, schema)
            for (key, topic_id), schema in self._schemas.items()
            if (key.partition, key.generation, key.prefix) == same and topic_id == now.topic_id
        ]
        _, before = max((one for one in others if one[0] < range_.start), default=(0, now.schema))
        if not self.can_read(range_.partition.topic, now.schema, before):
            self._chronicle.violated(
                f"{range_} has rows by schema {now.schema}, which cannot read {before} before (11)"
            )

    def _check_horizon(self, key: ObjectKey, now: StoredObject) -> None:
        range_ = key._replace(path="", clock=0.0)
        before = self._horizons.setdefault((range_, now.topic_id), now.horizon)
        if before != now.horizon:
            self._chronicle.violated(f"{key} is written by horizon {now.horizon}, and before by {before} (9)")
        for _, offset in now.records:
            if is_late(offset, now.horizon) != key.path.startswith("_late/"):
                self._chronicle.violated(f"{key.partition}@{offset} is in {key.path}, by horizon {now.horizon} (9)")

    def _check_generations(self, identity: Identity, generation: int, offset: Offset) -> None:
        if identity in self._replayed or self._refusing:
            return
        for lower in range(1, generation):
            if holders := self._holders.get((identity, lower, offset)):
                self._chronicle.violated(
                    f"{identity.partition}@{offset} is copied into generation {generation}: {sorted(holders)} (6)"
                )

    def refuses(self, prefix: str) -> None:
        """A place takes nothing any more."""
        self._refusing.add(prefix)

    def _one_was_refused(self, holders: set[ObjectKey]) -> bool:
        """Whether each place has a record once, and what may have been promised for one was stored in another."""
        prefixes = {holder.prefix for holder in holders}
        return len(prefixes) == len(holders) and not prefixes.isdisjoint(self._refusing)

    def commit(self, partition: TopicPartition, offset: Offset, metadata: str) -> None:
        """The broker takes a commit of a member."""
        parsed = parse(offset, metadata).metadata
        assert parsed is not None
        assert parsed.topic_id is not None
        identity = Identity(partition, parsed.topic_id)
        account, log = self._accounts[identity], self._logs[identity]
        before = account.committed
        if identity in self._reset:
            user_set = self._reset.pop(identity)
            if before is not None and user_set < before:
                account.floor, account.floor_from = parsed.generation, 0
            before = min(user_set, offset)  # what was skipped is recorded from the end of what is stored
        if before is None:
            self._first(identity, offset, log)
            before = offset
        if offset < before and not account.forgotten:
            self._chronicle.violated(f"the committed offset of {partition} went back from {before} to {offset} (3)")
        since = before
        if account.forgotten:
            since = self._known_since(identity, before)
            account.floor_from = self._replayed_from(identity, account)
        self._check_stored(identity, since, offset, account)
        account.committed, account.forgotten, account.generation = offset, False, parsed.generation
        self._check_newest(identity, offset, None if parsed.seen is None else parsed.seen.time)
        finished = self.finished_to(partition.topic)
        if parsed.horizon is not None and parsed.horizon > finished:
            self._chronicle.violated(f"{partition} is promised by horizon {parsed.horizon}; {finished} is finished (9)")
        if parsed.ends:
            assert parsed.revision is not None
            assert parsed.place is not None
            if not self.has_snapshot(parsed.place.partition("/")[2], parsed.revision):
                self._chronicle.violated(f"{partition} is promised under {parsed.revision}, which nobody can read (10)")

    def _check_newest(self, identity: Identity, offset: Offset, newest: int | None) -> None:
        times = [event_time(it) for it in self._logs[identity].offsets if it < offset]
        if newest is not None and newest > max(times, default=-1):
            self._chronicle.violated(f"{identity.partition} has events up to {newest}, none of it before {offset} (8)")
        account = self._accounts[identity]
        if account.newest is not None and (newest is None or newest < account.newest):
            self._chronicle.violated(f"{identity.partition} had events up to {account.newest}, and now {newest} (8)")
        account.newest = newest

    def _known_since(self, identity: Identity, committed: Offset) -> Offset:
        """Return from where on a group that Kafka has forgotten has to store: as far as anything tells it.

        That a user had set the offset to before the end at which the group began is forgotten, too, if nothing was
        stored since.
        """
        log = self._logs[identity]
        stored = any(holders for (it, _, _), holders in self._holders.items() if it == identity)
        if self.start_from == "latest" and identity in self._set_forward and not stored:
            return log.end
        return max(committed, log.start)

    def _replayed_from(self, identity: Identity, account: Account) -> Offset:
        """Return from where on a replay is known of that Kafka has forgotten: the first offset that it has stored.

        What a user had set the offset back to is forgotten, and a lower generation has what was stored before.
        """
        stored = (
            offset
            for (it, generation, offset), holders in self._holders.items()
            if it == identity and generation >= account.floor and holders
        )
        return max(account.floor_from, min(stored, default=self._logs[identity].end))

    def _first(self, identity: Identity, offset: Offset, log: Log) -> None:
        begins_at_end = self.start_from == "latest" and identity not in self._late
        if offset > (log.end if begins_at_end else log.start):
            self._chronicle.violated(
                f"{identity.partition} begins at {offset}, and Kafka has records from {log.start} on (4)"
            )

    def _check_stored(self, identity: Identity, since: Offset, until: Offset, account: Account) -> None:
        for offset in self._logs[identity].offsets:
            floor = account.floor if offset >= account.floor_from else 0
            if since <= offset < until and not self._is_stored(identity, offset, floor):
                self._chronicle.violated(
                    f"{identity.partition}@{offset} is in no object, and the group has committed {until} (4)"
                )

    def _is_stored(self, identity: Identity, offset: Offset, floor: int) -> bool:
        if any(start <= offset < end for start, end in self._losses[identity]):
            return True
        return any(self._holders.get((identity, generation, offset)) for generation in range(floor, floor + 20))

    def loss(self, identity: Identity, start: Offset, end: Offset, cause: str, prefix: str) -> None:
        """A loss is recorded in the bucket, by a member that stores under a prefix."""
        log = self._logs[identity]
        for offset in log.offsets:
            if start <= offset < end and (why := self._is_no_loss(identity, offset, prefix)):
                self._chronicle.violated(f"{identity.partition}@{offset} is recorded as {cause}, and {why} (5)")
        if cause == "lost" and end > log.start:
            self._chronicle.violated(f"[{start}, {end}) of {identity.partition} is said to be lost; it is there (5)")
        if cause == "skipped" and self._set_forward.get(identity, -1) < end:
            self._chronicle.violated(f"[{start}, {end}) of {identity.partition} was skipped, and no user did it (5)")
        self._losses[identity].append((start, end))

    def _is_no_loss(self, identity: Identity, offset: Offset, prefix: str) -> str:
        """Return why a loss of an offset is a false one; empty when it may be one, or is recorded once more."""
        if any(start <= offset < end for start, end in self._losses[identity]):
            return ""
        account = self._accounts[identity]
        committed = account.committed is not None and not account.forgotten and identity not in self._replayed
        if committed and identity not in self._reset and offset < (account.committed or 0):
            return f"{account.committed} was committed"
        holders = self._holders.get((identity, max(account.floor, account.generation), offset), ())
        whole = [it for it in holders if not it.path and it.prefix == prefix and it not in self._beside_quarantine]
        return f"{whole} has it" if whole else ""

    # what users and Kafka do to commits

    def added(self, identity: Identity) -> None:
        """A partition is added; the group may have begun with its topic."""
        begun = (it for it, account in self._accounts.items() if account.committed is not None)
        if any(it.topic_id == identity.topic_id for it in begun):
            self._late.add(identity)

    def fell_back(self, identity: Identity, offset: Offset, *, of_a_user: bool) -> None:
        """Kafka shows an older commit: what is stored behind it may be stored again by a higher generation."""
        account = self._accounts[identity]
        account.committed, account.newest = offset, None
        self._reset.pop(identity, None)
        if of_a_user:
            self._reset[identity] = offset
        self._replayed.add(identity)

    def user_sets(self, identity: Identity, offset: Offset) -> None:
        stored = (it for it, holders in self._holders.items() if holders and it[0] == identity)
        if any(at >= offset for _, _, at in stored):
            self._replayed.add(identity)
        self._reset[identity] = offset
        self._accounts[identity].newest = None
        self._set_forward[identity] = max(offset, self._set_forward.get(identity, 0))

    def deleted(self, identity: Identity) -> None:
        """A topic was deleted, and its commits may be gone with it."""
        self._accounts[identity].forgotten, self._accounts[identity].newest = True, None

    def forgotten(self, partition: TopicPartition) -> None:
        """Kafka has forgotten a commit. What it loses before somebody comes again, nobody can know of."""
        for identity in self._logs:
            if identity.partition == partition:
                self._reset.pop(identity, None)
                self._accounts[identity].forgotten, self._accounts[identity].newest = True, None

    def opinion(self) -> tuple[object, ...]:
        """Return what its judgement of all that comes depends on, besides Kafka and the bucket."""
        sets = self._refusing, self._replayed, self._late
        of_ranges = self._schemas, self._horizons, self._replays
        return self._accounts, self._reset, self._set_forward, self._losses, of_ranges, sets
