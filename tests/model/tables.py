"""Appends to tables in a small hostile world: two appenders, a catalog that answers or not, and somebody who meddles.

The appender is production code (`tables.duty` and what it uses). Receipts, catalog and Kafka are simulated. A topic has
one table, or one for each of three types, of which one is sparse. At each commit of a table a ledger that knows only
rows checks that none is there twice, none that is not committed, and that the table has all rows that its offsets
claim. Where receipts are deleted, it checks that their rows are there; where somebody is asked, that there is a cause.
At the end, after a person has followed the messages, all rows are there and no receipt is left.
"""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from greenlet import greenlet

from logpersister.backoff import PartlyFailedError
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.names import receipt_key
from logpersister.storage.receipts import NO_TYPE, Receipt, TableFile, TableFiles
from logpersister.storage.store import ListedObject
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.duty import TableDuty
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Ancestor, Held, TableView, held_text, last_text

GROUP: Final = "group"
TOPIC: Final = "clicks"
PARTITIONS: Final = 2
TYPES: Final = {"order": 0.8, "refund": 0.5, "rare": 0.06}
"""Of a topic that has some: how probably a range has rows of each."""
_NOON: Final = datetime(2026, 11, 25, 12, tzinfo=UTC)
_ASKED: Final = re.compile(r"table lake\.clicks_?(\w*), partition .* set its property \S+ to ([0-9:,-]+)")


class Violation(AssertionError):  # noqa: N818 - what a checker finds
    """A table has a row twice, or one that nobody has committed, or has lost one; or somebody was asked for nothing."""


class Crash(Exception):  # noqa: N818
    """The process of an appender ends here."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a table."""

    ancestor: Ancestor
    files: tuple[str, ...]
    parent: "Snapshot | None"


@dataclass(slots=True)
class SimulatedTable:
    """A table in the catalog (`tables.appender.Table`)."""

    world: "World"
    type: str
    head: Snapshot | None = None
    last: str | None = None
    version: int = 0
    commits: int = 0
    loads: int = 0
    gaps: str = ""
    begun: dict[tuple[int, int], int] = field(default_factory=dict)
    """By generation and partition: what its first offset was."""
    suffix: str = ""
    fails: TableError | None = None
    """What loading it raises."""

    def __post_init__(self) -> None:
        self.world.by_uuid[self.uuid] = self

    @property
    def name(self) -> str:
        return f"lake.clicks_{self.type}".removesuffix("_") + self.suffix

    @property
    def uuid(self) -> str:
        return f"uuid of {self.name}"

    def load(self) -> "Loaded":
        self.world.switch()
        self.loads += 1
        if self.fails is not None:
            raise self.fails
        return Loaded(self, self.version, self.head, self.last)

    def attempt(self, version: int, base: Snapshot | None, files: Sequence[TableFile], held: Held) -> None:
        """One compare-and-set; it may fail before or after it has happened."""
        world = self.world
        world.switch()
        if world.random.random() < 0.1:
            raise TableError("unavailable", "before the effect")
        if version != self.version:
            raise TableError("conflict", "others were faster")
        self.version += 1
        sequence = self.version
        ancestor = Ancestor(sequence * 10, sequence, base is not None, held_text(held))
        self.head = Snapshot(ancestor, (*(base.files if base else ()), *(file.key for file in files)), base)
        self.last = last_text(held, sequence * 10, sequence)
        self.commits += 1
        self.check(held)
        world.switch()
        if world.random.random() < 0.15:
            raise TableError("unavailable", "after the effect")
        if world.random.random() < 0.15:
            raise Crash

    def others_commit(self) -> None:
        """Somebody compacts or deletes nothing: a snapshot without our words."""
        if self.head is not None:
            self.version += 1
            ancestor = Ancestor(self.version * 10, self.version, True, None)
            self.head = Snapshot(ancestor, self.head.files, self.head)

    def roll_back(self) -> bool:
        """Somebody sets the table to the snapshot before; return whether there is one."""
        if self.head is None or self.head.parent is None:
            return False
        self.head = self.head.parent
        self.version += 1
        return True

    # the ledger

    def check(self, held: Held) -> None:
        files = self.head.files if self.head else ()
        twice = [key for key, count in Counter(files).items() if count > 1]
        if twice:
            raise Violation(f"files {twice} are in table {self.name} twice")
        for key in files:
            if self.world.rows[key].type != self.type:
                raise Violation(f"file {key} is in table {self.name}")
            self.world.check_committed(self.world.rows[key].range, self.world.rows[key].generation)
        for of, offsets in held.items():
            for partition, offset in offsets.items():
                begun = self.begun.setdefault((of.generation, partition), offset)
                self._check_claim(of.generation, partition, begun, offset)

    def _check_claim(self, generation: int, partition: int, begun: int, offset: int) -> None:
        files = self.head.files if self.head else ()
        for key, rows in self.world.rows.items():
            behind = (rows.generation, rows.range.partition.partition) == (generation, partition)
            if rows.type == self.type and behind and rows.range.end <= offset and key not in files:
                raise Violation(f"table {self.name} holds partition {partition} up to {offset}, and lacks {key}")
        for lost in self.world.outside.get((self.type, generation, partition), ()):
            if begun <= lost.start and lost.end <= offset and not self._has_accepted(lost):
                raise Violation(f"table {self.name} has passed over {lost}, whose rows are outside of it")

    def _has_accepted(self, lost: Range) -> bool:
        gaps = [re.split("[:-]", one) for one in self.gaps.split(",") if one]
        partition = lost.partition.partition
        return any(int(of) == partition and int(a) <= lost.start and lost.end <= int(b) for of, a, b in gaps)


@dataclass(frozen=True, slots=True)
class Rows:
    """A file of a table."""

    type: str
    range: Range
    generation: int


@dataclass(slots=True)
class World:
    """Everything outside of the appenders."""

    random: random.Random
    switch: Callable[[], None]
    """Lets others run; production code waits here for the network."""
    types: Sequence[str] = (NO_TYPE,)
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Receipts, by key."""
    put_again: dict[str, dict[str, Any]] = field(default_factory=dict)
    """All that were ever put."""
    put_at: dict[str, datetime] = field(default_factory=dict)
    committed: dict[int, CommittedPosition] = field(default_factory=dict)
    seen: list[dict[int, CommittedPosition]] = field(default_factory=list)
    """What the committed offsets once were: an answer may be one of these."""
    rows: dict[str, Rows] = field(default_factory=dict)
    """By file. All that were ever stored for a table."""
    outside: dict[tuple[str, int, int], list[Range]] = field(default_factory=dict)
    """By type, generation and partition: ranges with rows of it that were stored without its table."""
    time: datetime = _NOON
    tables: dict[str, SimulatedTable] = field(default_factory=dict)
    by_uuid: dict[str, SimulatedTable] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = {type_: SimulatedTable(self, type_) for type_ in self.types}

    # receipts and offsets

    def store(
        self, partition: int, generation: int, start: int, end: int, rows: Sequence[str] | None = None,
        without_table: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """Store a range: its receipt is there from now on, its offset is not yet committed.

        Args:
            partition: of the range.
            generation: in which it is stored.
            start: its first offset.
            end: the offset behind its last.
            rows: types of which it has rows; None: all.
            without_table: those of them that its revision has no table for.
        """
        range_ = Range(TopicPartition(TOPIC, partition), start, end)
        bound = [type_ for type_ in self.types if type_ not in without_table]
        files: dict[str, TableFiles] = {}
        for type_ in self.types if rows is None else rows:
            key = f"{generation}-{partition}-{start}" + (f"-{type_}" if type_ else "")
            if type_ in without_table:
                outside = self.outside.setdefault((type_, generation, partition), [])
                outside += [range_] if range_ not in outside else []
                continue
            self.rows[key] = Rows(type_, range_, generation)
            file = TableFile(key, 1, end - start, (), {}, (4,))
            files[type_] = TableFiles(self.tables[type_].uuid, 0, 0, (file,))
        without = tuple(type_ for type_ in self.types if rows is not None and type_ not in rows)
        receipt = Receipt(range_, "id", generation, f"revision {','.join(bound)}", files, without)
        self.put(receipt_key("", GROUP, range_.partition, generation, start), receipt.document())

    def put(self, key: str, document: dict[str, Any]) -> None:
        self.documents[key] = self.put_again[key] = document
        self.put_at[key] = self.time

    def commit(self, partition: int, generation: int, offset: int) -> None:
        self.seen.append(dict(self.committed))
        self.committed[partition] = CommittedPosition(offset, generation, "id")

    def positions(self, _: str) -> Mapping[int, CommittedPosition]:
        self.switch()
        return dict(self.random.choice([self.committed, self.committed, *self.seen[-3:]]))

    # the bucket, as `storage.receipts` uses it

    prefix = ""

    def list_objects(self, prefix: str, *, start_after: str = "") -> Iterator[ListedObject]:
        self.switch()
        yield from [ListedObject(key, 1, self.put_at[key]) for key in sorted(self.documents) if key.startswith(prefix)]

    def get_json(self, key: str) -> dict[str, Any] | None:
        return json.loads(json.dumps(self.documents[key])) if key in self.documents else None

    def delete_all(self, keys: Sequence[str]) -> None:
        self.switch()
        for key in keys:
            self.check_deleted(self.documents.pop(key, {}))
            self.switch()

    @property
    def commits(self) -> int:
        return sum(table.commits for table in self.tables.values())

    @property
    def head(self) -> Snapshot | None:
        """That of a topic without types."""
        return self.tables[NO_TYPE].head

    # the ledger

    def check_committed(self, range_: Range, generation: int) -> None:
        partition = range_.partition.partition
        best = max(
            (one[partition] for one in [*self.seen, self.committed] if partition in one),
            key=lambda position: (position.generation, position.offset),
            default=None,
        )
        if best is None or (best.generation, best.offset) < (generation, range_.end):
            raise Violation(f"{range_} of generation {generation} is in a table and not committed")

    def check_deleted(self, document: Mapping[str, Any]) -> None:
        """Check that the rows of a receipt that is deleted are in their tables."""
        for of in document.get("types", {NO_TYPE: document} if document else {}).values():
            table = self.by_uuid[of["table"]]
            is_gone = table.fails is not None and table.fails.reason == "no-table"
            for file in [] if is_gone else of["files"]:
                if file["key"] not in (table.head.files if table.head else ()):
                    raise Violation(f"the receipt of {file['key']} was deleted before {table.name} had it")

    def check_asked(self, message: str) -> tuple[SimulatedTable, str] | None:
        """Return the table and the gaps that a message asks about; check that there are such."""
        asked = _ASKED.search(message)
        if asked is None:
            return None
        for gap in asked[2].split(","):
            partition, start, end = map(int, re.split("[:-]", gap))
            outside = [
                one
                for (type_, _, of), ranges in self.outside.items()
                for one in ranges
                if (type_, of) == (asked[1], partition)
            ]
            if not any(start <= one.start and one.end <= end for one in outside):
                raise Violation(f"somebody is asked without cause: {message}")
        return self.tables[asked[1]], asked[2]

    def check_end(self) -> None:
        """Everything is committed and appended."""
        live = {key for table in self.tables.values() for key in (table.head.files if table.head else ())}
        missing = self.rows.keys() - live
        if missing:
            raise Violation(f"rows of {sorted(missing)} are in no live file")
        if self.documents:
            raise Violation(f"receipts {sorted(self.documents)} are left")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A table at one moment."""

    table: SimulatedTable
    version: int
    head: Snapshot | None
    last: str | None

    @property
    def view(self) -> TableView:
        ancestors: list[Ancestor] = []
        snapshot = self.head
        while snapshot is not None:
            ancestors.append(snapshot.ancestor)
            snapshot = snapshot.parent
        at = len(ancestors) * 1000 or None
        return TableView(self.table.name, self.table.uuid, 0, ancestors, self.last, None, self.table.gaps, at)

    def append(self, files: Sequence[TableFile], held: Held) -> None:
        self.table.attempt(self.version, self.head, files, held)


def play(seed: int, *, rolls_back: bool = False, has_types: bool = False) -> World:
    """Play a history; return the world at its end. Raises `Violation`."""
    chance = random.Random(seed)
    main = greenlet.getcurrent()
    world = World(chance, main.switch, tuple(TYPES) if has_types else (NO_TYPE,))
    appenders: list[greenlet | None] = [None, None]
    duties = [duty_of(world), duty_of(world)]
    at = {(partition, 1): 0 for partition in range(PARTITIONS)}
    uncommitted: dict[int, tuple[int, int]] = {}
    for _ in range(chance.randint(60, 160)):
        what = chance.random()
        partition = chance.randrange(PARTITIONS)
        if what < 0.25:
            _produce(world, chance, partition, at, uncommitted)
        elif what < 0.35 and partition in uncommitted:
            generation, end = uncommitted.pop(partition)
            world.commit(partition, generation, end)
        elif what < 0.4:
            chance.choice(list(world.tables.values())).others_commit()
        elif what < 0.42:
            place = chance.randrange(2)
            appenders[place], duties[place] = None, duty_of(world)  # killed, and begun anew
        elif what < 0.44:
            world.time += timedelta(hours=2)  # what is kept for sparse tables has been kept for long
        elif what < 0.46 and world.put_again:
            key = chance.choice(sorted(world.put_again))
            world.put(key, world.put_again[key])  # by a zombie, perhaps long after it was deleted
        else:
            _run(world, appenders, duties, chance.randrange(2))
    if rolls_back:
        return world
    for partition, (generation, end) in uncommitted.items():
        world.commit(partition, generation, end)
    for partition in range(PARTITIONS):  # what a lower generation has left goes once a replay is as far
        generation = max(number for of, number in at if of == partition)
        furthest = max(end for (of, _), end in at.items() if of == partition)
        if 0 < at[partition, generation] < furthest:
            world.store(partition, generation, at[partition, generation], furthest)
            world.commit(partition, generation, furthest)
    _finish(world, duties)
    return world


def _produce(
    world: World,
    chance: random.Random,
    partition: int,
    at: dict[tuple[int, int], int],
    uncommitted: dict[int, tuple[int, int]],
) -> None:
    """Store the next range of a partition, or begin to replay it in the next generation."""
    if partition in uncommitted:
        generation, end = uncommitted[partition]
        key = next(
            key
            for key, document in world.put_again.items()
            if (document["generation"], document["partition"], document["end"]) == (generation, partition, end)
        )
        world.put(key, world.put_again[key])  # once more, by somebody else or a zombie
        return
    generation = max(number for of, number in at if of == partition)
    if chance.random() < 0.1 and generation < 3 and at[partition, generation] > 0:
        generation += 1
        at[partition, generation] = 0
        world.seen.append(dict(world.committed))
        world.committed.pop(partition, None)  # set back by a user: without metadata of ours
    start = at[partition, generation]
    end = start + chance.randint(1, 3)
    rows, without_table = None, []
    if world.types != (NO_TYPE,):
        rows = [type_ for type_, probability in TYPES.items() if chance.random() < probability]
        without_table = ["refund"] if chance.random() < 0.06 else []  # its table did not take the columns
    world.store(partition, generation, start, end, rows, without_table)
    uncommitted[partition] = generation, end
    at[partition, generation] = end


def duty_of(
    world: World,
    *,
    second: SimulatedTable | None = None,
    positions: Callable[[str], Mapping[int, CommittedPosition]] | None = None,
    **other: Any,
) -> TableDuty:
    """Return a new appender; from generation 2 on it appends to a `second` table, if there is one."""
    store: Any = world

    def opened(_: str, generation: int, type_: str) -> SimulatedTable:
        return world.tables[type_] if second is None or generation == 1 else second

    defaults = {"types": lambda _: frozenset(world.types)}
    return TableDuty(
        store,
        GROUP,
        opened,
        lambda *of: opened(*of).name,
        positions or world.positions,
        1.0,
        pause=lambda _: world.switch(),
        clock=lambda: world.time.timestamp(),  # noqa: PLW0108 - the time changes
        now=lambda: world.time,
        tables_at_once=1,
        **(defaults | other),
    )


def _perform(world: World, duty: TableDuty) -> None:
    try:
        duty.perform(TOPIC)
    except (TableError, PartlyFailedError) as error:
        world.check_asked(str(error))
    except Crash:
        return


def _run(world: World, appenders: list[greenlet | None], duties: list[TableDuty], place: int) -> None:
    """Let an appender go on to where it waits next."""
    if appenders[place] is None:
        appenders[place] = greenlet(lambda: _perform(world, duties[place]))
    found = appenders[place]
    assert found is not None
    found.switch()
    if found.dead:
        appenders[place] = None


def _finish(world: World, duties: list[TableDuty]) -> None:
    """Let one appender alone do what is left, with answers that are true; a person follows its messages."""
    world.seen.clear()
    world.random = random.Random(0)
    world.switch = lambda: None
    for _ in range(60):
        try:
            duties[0].perform(TOPIC)
        except (TableError, PartlyFailedError) as error:
            asked = world.check_asked(str(error))
            if asked is not None:
                table, gaps = asked
                table.gaps = f"{table.gaps},{gaps}".strip(",")
        except Crash:
            continue
        if not world.documents:
            break
        world.time += timedelta(hours=2)
    for table in world.tables.values():
        table.check({})
    world.check_end()
