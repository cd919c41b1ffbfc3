"""Random histories of a topic: records in and out of order, commits, deaths, zombies, new partitions, generations.

The oracle shares no decision with the product: it knows every record, and what each number of a folder has said.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.plan.intents import CommittedOffset, OffsetMetadata
from tests.examples import examples
from tests.unit.finish.world import (
    GROUP,
    HOUR_MS,
    MIDNIGHT_MS,
    MINUTE_MS,
    OF_A_FIELD,
    RULES,
    TOPIC,
    TOPIC_ID,
    FakePartition,
    KilledError,
    World,
    before_write,
    killed,
    spec,
)

LATENESS_MS = 10 * MINUTE_MS
IDLE_MS = HOUR_MS
STEPS = 120


class History:
    """One history: what happens next is by chance, what must hold is checked after each step."""

    def __init__(
        self,
        seed: int,
        trigger: str = "record-time",
        rules: Sequence[PartitionRule] = RULES,
        late: str = "append",
        *,
        has_types: bool = False,
        has_outer: bool = False,
    ) -> None:
        self.chance = random.Random(seed)
        settings = spec(trigger=trigger, late=late, outerLevels=has_outer)
        self.world = World(self.chance.choice([1, 2, 3]), settings, [*rules], has_types=has_types)
        self.horizons: list[int | None] = [None]
        """All that were ever read."""
        self.world.at(0)
        self.hours = 0.0
        self.contents: dict[tuple[str, int], Any] = {}
        self.finished: set[str] = set()
        self.done: set[tuple[str, int]] = set()
        """Folders and partitions that are said to be done."""
        self.finished_to = 0
        """Up to when the topic was finished after the last step."""
        self.lengths: dict[int, int] = {}
        """How many records each partition had then."""
        self.skew = {number: self.chance.choice([0, 0, 0.05, 1]) for number in range(6)}
        """By how many hours the records of a partition may be behind."""

    def step(self) -> None:
        actions: list[Callable[[], None]] = [self.produce] * 6 + [self.store] * 5 + [self.look] * 5
        actions += [self.pass_time] * 4 + [
            self.die,
            self.sleep,
            self.add_partition,
            self.upgrade,
            self.store_uncommitted,
        ]
        self.chance.choice(actions)()
        self.check()

    def produce(self) -> None:
        number = self.chance.choice(list(self.world.partitions))
        behind = self.chance.choice([0, 0, 0, self.skew[number], 3])
        future = self.chance.choice([0, 0, 0, 0, 0, 0, 0, 0, 0, 5])
        if self.world.layout.field_name and self.chance.random() < 0.1:
            self.world.produce(number, None)
        for _ in range(self.chance.randrange(1, 4)):
            self.world.produce(number, max(0.0, self.hours - behind * self.chance.random() + future))

    def store(self) -> None:
        number = self.chance.choice(list(self.world.partitions))
        of = self.world.partitions[number]
        start = of.committed.offset if of.committed is not None else 0
        if start < len(of.times):
            self.world.store_range(number, self.chance.randint(start + 1, len(of.times)), horizon=self.horizon())

    def horizon(self) -> int | None:
        """Read up to when folders are finished; a reading may be old."""
        if self.world.spec.late == "append":
            return None
        self.horizons.append(self.world.horizon())
        return self.chance.choice([self.horizons[-1], self.horizons[-1], self.chance.choice(self.horizons)])

    def store_uncommitted(self) -> None:
        """Execute a range whose commit comes later, or never: then it is executed again with the same end."""
        number = self.chance.choice(list(self.world.partitions))
        of = self.world.partitions[number]
        start = of.committed.offset if of.committed is not None else 0
        if start < len(of.times):
            end, horizon = self.chance.randint(start + 1, len(of.times)), self.horizon()
            self.world.store_range(number, end, commit=False, horizon=horizon)
            for _ in range(self.chance.randrange(3)):
                self.chance.choice([self.look, self.pass_time])()
            if self.chance.random() < 0.5:
                self.world.commit(number, end)
            else:  # by the horizon of the promise, whatever is finished by now
                self.world.store_range(number, end, horizon=horizon)

    def look(self) -> None:
        if self.chance.random() < 0.2:  # the coordinator shows what was true before
            partition = self.world.partitions[self.chance.choice(list(self.world.partitions))]
            real = partition.committed
            if real is not None and real.metadata is not None and real.metadata.generation == self.world.generation:
                before = [
                    one
                    for _, one in partition.commits
                    if one.metadata and one.metadata.generation == self.world.generation
                ]
                partition.committed = self.chance.choice(
                    [CommittedOffset(0, OffsetMetadata(TOPIC_ID, self.world.generation)), *before]
                )
            self.world.look()
            partition.committed = real
        else:
            self.world.look()

    def pass_time(self) -> None:
        self.hours += self.chance.choice([0.05, 0.2, 0.6, 1.5])
        self.world.at(self.hours)

    def die(self) -> None:
        before_write(self.world, self.chance.randrange(6), killed)
        try:
            self.world.look()
        except KilledError:
            self.world.finisher = self.world.new_finisher()
        self.world.store.before_write = lambda: None

    def sleep(self) -> None:
        """A process stands still before a write, another one works meanwhile, then it goes on."""
        successor = self.world.new_finisher()

        def meanwhile() -> None:
            for _ in range(self.chance.randrange(1, 4)):
                self.chance.choice([self.produce, self.store, self.pass_time])()
                self.world.look(successor)

        before_write(self.world, self.chance.randrange(6), meanwhile)
        self.world.look()
        self.world.store.before_write = lambda: None
        self.world.finisher = successor

    def add_partition(self) -> None:
        if len(self.world.partitions) < 5:
            self.world.partitions[len(self.world.partitions)] = FakePartition()

    def upgrade(self) -> None:
        self.world.generation += 1

    # the oracle

    def check(self) -> None:
        for key, (document, _) in self.world.store.documents.items():
            if key.endswith(("_manifest.json", ".json")) and "objects" in document:
                said = self.contents.setdefault((document["folder"], document["number"]), document)
                assert said == document, "a number has one content"
        for number, offset in self.world.aside:
            folder = self.world.folder(offset, self.world.partitions[number].times[offset])
            over = max((one for one in self.horizons if one is not None), default=0)
            assert end_of(folder) <= over, "no record is late whose folder is not finished"
        for folder, number in self.world.done() - self.done:
            self.done.add((folder, number))
            if end_of(folder) > self.finished_to:
                self.check_not_early(folder, [number])
        for folder in set(self.world.finished()) - self.finished:
            self.finished.add(folder)
            if is_outer(folder):
                self.check_inner(folder)
            if end_of(folder) <= self.finished_to:  # a late record has made it, when its hour was over for all
                if is_outer(folder):
                    continue
                content = self.world.content(folder)
                assert content["records"] == content["lateRecords"] > 0
            else:
                self.check_not_early(folder, self.world.partitions)
        note, _ = self.world.store.documents.get(f"raw/_logpersister/{GROUP}/finished/{TOPIC}/_topic.json", ({}, ""))
        self.finished_to = note.get("finishedTo", 0)
        self.lengths = {number: len(partition.times) for number, partition in self.world.partitions.items()}

    def check_inner(self, folder: str) -> None:
        """What is in a folder of an outer level was finished before it."""
        inside = {key.removeprefix(f"raw/{TOPIC}/").rpartition("/")[0] for key in self.world.store.objects}
        assert {one for one in inside if one.startswith(f"{folder}/")} <= {*self.world.finished()}

    def check_not_early(self, folder: str, numbers: Iterable[int]) -> None:
        """No record that belongs here is left unstored, except behind one that has passed the lateness: it is late."""
        end = end_of(folder)
        assert self.world.seconds * 1000 >= end + LATENESS_MS
        for number in numbers:
            partition = self.world.partitions[number]
            stored = 0 if partition.committed is None else partition.committed.offset
            for offset in self.before_passing(partition, end + LATENESS_MS):
                if offset >= self.lengths.get(number, 0) and self.ended_a_silence(partition, offset):
                    break  # it came while somebody slept who had seen that the partition was idle
                its = self.world.folder(offset, partition.times[offset])
                belongs = its == folder or its.startswith(f"{folder}/")
                assert not belongs or offset < stored, f"{folder} is early"

    def ended_a_silence(self, partition: FakePartition, offset: int) -> bool:
        before = partition.produced_at[offset - 1] if offset else 0.0
        return partition.produced_at[offset] - before >= IDLE_MS / 1000

    def before_passing(self, partition: FakePartition, instant: int) -> Iterator[int]:
        """Yield the offsets of which none may be missing when a partition counts as having passed an instant."""
        if self.world.spec.trigger == "process-time":
            yield from (at for at, seconds in enumerate(partition.produced_at) if seconds * 1000 < instant)
        elif self.world.layout.field_name:
            yield from self.before_passing_by_a_field(partition, instant)
        else:
            yield from self.before_passing_by_records(partition, instant)

    def before_passing_by_a_field(self, partition: FakePartition, instant: int) -> Iterator[int]:
        """Without a stored event of that time: those that Kafka had when the newest one had been known for an hour."""
        known = [(at, one.metadata.seen) for at, one in partition.commits if one.metadata and one.metadata.seen]
        newest = max((seen.time for _, seen in known), default=None)
        if newest is not None and newest >= instant:
            return
        since = next((at for at, seen in known if seen.time == newest), MIDNIGHT_MS / 1000)
        yield from (at for at, seconds in enumerate(partition.produced_at) if seconds < since + IDLE_MS / 1000)

    def before_passing_by_records(self, partition: FakePartition, instant: int) -> Iterator[int]:
        now, times = self.world.seconds * 1000, partition.kafka_times(of_a_field=False)
        by_clock = any(time > now for time in times)
        for offset, time in enumerate(times):
            if instant <= time <= now:
                return
            if by_clock and partition.produced_at[offset] * 1000 >= instant + IDLE_MS:
                return
            yield offset

    def end(self) -> None:
        """Let everything be stored, pass and be looked at; then every record must be told in its folder."""
        for number in self.world.partitions:
            self.world.store_new(number, self.hours + 8)
        self.hours += 9
        for _ in range(4):
            self.world.at(self.hours)
            self.world.look()
            self.hours += 1.1
        expected: Counter[str] = Counter()
        for number, partition in self.world.partitions.items():
            for offset, time in enumerate(partition.times):
                folder = self.world.folder(offset, time)
                has_time = "=unknown" not in folder and folder != "type=raw"
                if has_time and self.is_over(folder) and (number, offset) not in self.world.aside:
                    expected[folder] += 1
        outer = {outer_of(folder) for folder in expected if self.world.spec.outer_levels and "/hr=" in folder}
        assert set(self.world.finished()) == {*expected, *(folder for folder in outer if self.is_over(folder))}
        assert {folder: self.world.content(folder)["records"] for folder in expected} == expected
        assert self.world.arrivals() == 0

    def is_over(self, folder: str) -> bool:
        return end_of(folder) + LATENESS_MS <= self.world.seconds * 1000


def is_outer(folder: str) -> bool:
    return "/hr=" not in folder and not folder.startswith("type=refund/")


def outer_of(folder: str) -> str:
    return folder.partition("/hr=")[0]


def end_of(folder: str) -> int:
    if "/hr=" not in folder:
        return _begin_of(folder.rpartition("/")[2], "dt=%Y-%m-%d") + 24 * HOUR_MS
    return _begin_of(folder.removeprefix("type=order/"), "dt=%Y-%m-%d/hr=%H") + HOUR_MS


def _begin_of(folder: str, pattern: str) -> int:
    return int(datetime.strptime(f"{folder} +0000", f"{pattern} %z").timestamp() * 1000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trigger", "rules", "late"),
    [
        ("record-time", RULES, "append"),
        ("partition-time", OF_A_FIELD, "append"),
        ("process-time", OF_A_FIELD, "append"),
        ("record-time", RULES, "folder"),
        ("partition-time", OF_A_FIELD, "folder"),
    ],
    ids=["records", "a field", "the clock", "records, late ones apart", "a field, late ones apart"],
)
@examples(60)
@given(seed=st.integers(0, 1 << 32), has_types=st.booleans(), has_outer=st.booleans())
def test_never_early_each_number_once_and_nothing_forgotten(
    trigger: str, rules: Sequence[PartitionRule], late: str, seed: int, has_types: bool, has_outer: bool
) -> None:
    history = History(seed, trigger, rules, late, has_types=has_types, has_outer=has_outer)
    for _ in range(STEPS):
        history.step()
    history.end()


def test_the_oracle_finds_what_is_early() -> None:
    history = History(1)
    history.world.produce(0, 0.5, 0.6, 3)
    history.check()
    history.world.at(5)
    history.world.store_range(0, 1)
    for name in ("_SUCCESS", ".0.done"):
        history.world.store.put_marker(f"raw/{TOPIC}/dt=2026-03-28/hr=00/{name}")
        with pytest.raises(AssertionError, match="early"):
            history.check()
        history.world.store.delete(f"raw/{TOPIC}/dt=2026-03-28/hr=00/{name}")
