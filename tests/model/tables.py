"""Appends to a table in a small hostile world: two appenders, a catalog that answers or not, and somebody who meddles.

The appender is production code (`tables.duty`, `tables.appends`, `tables.offsets`). Receipts, catalog and Kafka are
simulated. At each commit of the table a ledger that knows only rows checks that none is there twice and none that is
not committed; at the end, that all are there and no receipt is left.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from greenlet import greenlet

from logpersister.ranges import Range, TopicPartition
from logpersister.storage.names import receipt_key
from logpersister.storage.receipts import Receipt, TableFile
from logpersister.storage.store import ListedObject
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.duty import TableDuty
from logpersister.tables.errors import TableError
from logpersister.tables.offsets import Ancestor, Held, TableView, held_text, last_text

GROUP: Final = "group"
TOPIC: Final = "clicks"
PARTITIONS: Final = 2
_NOW: Final = datetime(2026, 11, 25, tzinfo=UTC)


class Violation(AssertionError):  # noqa: N818 - what a checker finds
    """The table has a row twice, or one that nobody has committed, or has lost one."""


class Crash(Exception):  # noqa: N818
    """The process of an appender ends here."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of the table."""

    ancestor: Ancestor
    files: tuple[str, ...]
    parent: "Snapshot | None"


@dataclass(slots=True)
class World:
    """Everything outside of the appenders."""

    random: random.Random
    switch: Callable[[], None]
    """Lets others run; production code waits here for the network."""
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Receipts, by key."""
    committed: dict[int, CommittedPosition] = field(default_factory=dict)
    seen: list[dict[int, CommittedPosition]] = field(default_factory=list)
    """What the committed offsets once were: an answer may be one of these."""
    rows: dict[str, Receipt] = field(default_factory=dict)
    """By file: whose rows it has. All that were ever stored."""
    head: Snapshot | None = None
    last: str | None = None
    version: int = 0
    commits: int = 0

    # receipts and offsets

    def store(self, partition: int, generation: int, start: int, end: int) -> None:
        """Store a range: its receipt is there from now on, its offset is not yet committed."""
        range_ = Range(TopicPartition(TOPIC, partition), start, end)
        key = f"{generation}-{partition}-{start}"
        file = TableFile(key, 1, end - start, (), {}, (4,))
        receipt = Receipt(range_, "id", generation, "revision", "uuid", 0, 0, (file,))
        self.rows[key] = receipt
        self.documents[receipt_key("", GROUP, range_.partition, generation, start)] = receipt.document()

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
        yield from [ListedObject(key, 1, _NOW) for key in sorted(self.documents) if key.startswith(prefix)]

    def get_json(self, key: str) -> dict[str, Any] | None:
        return json.loads(json.dumps(self.documents[key])) if key in self.documents else None

    def delete_all(self, keys: Sequence[str]) -> None:
        self.switch()
        for key in keys:
            self.documents.pop(key, None)
            self.switch()

    # the table

    def load(self) -> "Loaded":
        self.switch()
        return Loaded(self, self.version, self.head, self.last)

    @property
    def name(self) -> str:
        return "lake.clicks"

    def attempt(self, version: int, base: Snapshot | None, files: Sequence[TableFile], held: Held) -> None:
        """One compare-and-set; it may fail before or after it has happened."""
        self.switch()
        if self.random.random() < 0.1:
            raise TableError("unavailable", "before the effect")
        if version != self.version:
            raise TableError("conflict", "others were faster")
        self.version += 1
        sequence = self.version
        ancestor = Ancestor(sequence * 10, sequence, base is not None, held_text(held))
        self.head = Snapshot(ancestor, (*(base.files if base else ()), *(file.key for file in files)), base)
        self.last = last_text(held, sequence * 10, sequence)
        self.commits += 1
        self.check()
        self.switch()
        if self.random.random() < 0.15:
            raise TableError("unavailable", "after the effect")
        if self.random.random() < 0.15:
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

    def check(self) -> None:
        files = self.head.files if self.head else ()
        twice = [key for key, count in Counter(files).items() if count > 1]
        if twice:
            raise Violation(f"files {twice} are in the table twice")
        for key in files:
            receipt = self.rows[key]
            partition = receipt.range.partition.partition
            best = max(
                (one[partition] for one in [*self.seen, self.committed] if partition in one),
                key=lambda position: (position.generation, position.offset),
                default=None,
            )
            if best is None or (best.generation, best.offset) < (receipt.generation, receipt.range.end):
                raise Violation(f"{receipt.range} of generation {receipt.generation} is in the table and not committed")

    def check_end(self) -> None:
        """Everything is committed and appended."""
        missing = self.rows.keys() - set(self.head.files if self.head else ())
        if missing:
            raise Violation(f"rows of {sorted(missing)} are in no live file")
        if self.documents:
            raise Violation(f"receipts {sorted(self.documents)} are left")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The table at one moment."""

    world: World
    version: int
    head: Snapshot | None
    last: str | None

    @property
    def view(self) -> TableView:
        ancestors: list[Ancestor] = []
        at = self.head
        while at is not None:
            ancestors.append(at.ancestor)
            at = at.parent
        return TableView("lake.clicks", "uuid", 0, ancestors, self.last, None)

    def append(self, files: Sequence[TableFile], held: Held) -> None:
        self.world.attempt(self.version, self.head, files, held)


def play(seed: int, *, rolls_back: bool = False) -> World:
    """Play a history; return the world at its end. Raises `Violation`."""
    chance = random.Random(seed)
    main = greenlet.getcurrent()
    world = World(chance, switch=main.switch)
    appenders: list[greenlet | None] = [None, None]
    duties = [_duty(world), _duty(world)]
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
            world.others_commit()
        elif what < 0.42:
            place = chance.randrange(2)
            appenders[place], duties[place] = None, _duty(world)  # killed, and begun anew
        else:
            _run(appenders, duties, chance.randrange(2))
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
        wanted = generation, partition, end
        stored = (one.range for one in world.rows.values() if one.generation == generation)
        start = max(one.start for one in stored if (generation, one.partition.partition, one.end) == wanted)
        world.store(partition, generation, start, end)  # once more, by somebody else or a zombie
        return
    generation = max(number for of, number in at if of == partition)
    if chance.random() < 0.1 and generation < 3 and at[partition, generation] > 0:
        generation += 1
        at[partition, generation] = 0
        world.seen.append(dict(world.committed))
        world.committed.pop(partition, None)  # set back by a user: without metadata of ours
    start = at[partition, generation]
    end = start + chance.randint(1, 3)
    world.store(partition, generation, start, end)
    uncommitted[partition] = generation, end
    at[partition, generation] = end


def _duty(world: World) -> TableDuty:
    store: Any = world
    return TableDuty(store, GROUP, lambda *_: world, world.positions, 1.0, pause=lambda _: world.switch())


def _perform(duty: TableDuty) -> None:
    try:
        duty.perform(TOPIC)
    except (TableError, Crash):
        return


def _run(appenders: list[greenlet | None], duties: list[TableDuty], place: int) -> None:
    """Let an appender go on to where it waits next."""
    if appenders[place] is None:
        appenders[place] = greenlet(lambda: _perform(duties[place]))
    found = appenders[place]
    assert found is not None
    found.switch()
    if found.dead:
        appenders[place] = None


def _finish(world: World, duties: list[TableDuty]) -> None:
    """Let one appender alone do what is left, with answers that are true."""
    world.seen.clear()
    world.random = random.Random(0)
    for _ in range(60):
        world.switch = lambda: None
        try:
            duties[0].perform(TOPIC)
        except (TableError, Crash):
            continue
        if not world.documents:
            break
    world.check()
    world.check_end()
