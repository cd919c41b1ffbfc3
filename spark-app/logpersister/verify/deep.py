"""The deep form: reads objects back and compares them with Kafka's records, one range after the other."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final

import pyarrow as pa

from logpersister.pipeline.reader import RangeReadError, ReadRequest
from logpersister.pipeline.splitting import by_path
from logpersister.ranges import Range, common
from logpersister.records.escaping import QUARANTINE
from logpersister.records.topic_layout import TopicLayout
from logpersister.storage.facts import ObjectFacts
from logpersister.storage.names import parse_object_key
from logpersister.verify.comparison import Comparison, ExactComparison, OwnFacts, PartialComparison, Tally
from logpersister.verify.content import Content, content_of
from logpersister.verify.evidence import StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.missing_offsets import Reader
from logpersister.verify.replays import NotedReplay
from logpersister.verify.sorted_comparison import SortedComparison, SortedPartialComparison
from logpersister.verify.tiling import Examination, Tile
from logpersister.verify.writing import Writing

AT_ONCE: Final = 8
"""Large objects of one range that are read side by side; for further ones its records are read from Kafka once more."""
SORTED_AT_ONCE: Final = 1
"""Sorted objects that are read side by side: a row group of each is in memory."""
SMALL_BYTES: Final = 1 << 20
"""Size, as rows in memory, up to which an object is read at once when its first record comes."""
HELD_BYTES: Final = 64 << 20
"""Size of all objects of one range that are held so at the same time."""
_ITEM_BYTES: Final = 200
"""Overhead per item, in bytes."""

ReadObject = Callable[[str], Generator[bytes, None, None]]
"""Streams the bytes of an object; raises `ContentError` when it is gone."""
Known = tuple[StoredObject, ObjectFacts]


Records = Callable[[pa.RecordBatch], pa.RecordBatch]

WritingOf = Callable[[str], Writing | str]
"""Returns how a revision writes, or why that is not known."""


@dataclass(slots=True)
class DeepResult:
    """What came out for one partition."""

    findings: list[Finding] = field(default_factory=list)
    compared: int = 0
    """Records of Kafka that stand in their object as they are."""


class DeepVerification:
    """Reads and compares. Memory: a few batches of records and pieces of objects, or a row group where it is sorted."""

    def __init__(self, reader: Reader, read_object: ReadObject, writing_of: WritingOf) -> None:
        self._reader = reader
        self._read_object = read_object
        self._writing_of = writing_of

    def compare(self, examination: Examination) -> DeepResult:
        """Compare everything that takes part in the tiling of a partition."""
        result = DeepResult()
        readable = examination.evidence.readable
        for tile in examination.tiles:
            in_kafka = common([tile.span], [readable.span]) if readable else []
            wanted = Range(examination.evidence.partition, *in_kafka[0]) if in_kafka else None
            by_writer: defaultdict[tuple[str | None, str, int | None], list[Known]] = defaultdict(list)
            for one in tile.objects:
                if (facts := one.facts) is not None:
                    by_writer[one.name.replay, facts.rules or facts.revision, facts.horizon].append((one, facts))
            for (replay, revision, horizon), objects in by_writer.items():
                writing, share = self._writing_of(revision), self._share(tile, replay, horizon, examination)
                if isinstance(writing, str) or isinstance(share, str):
                    message = writing if isinstance(writing, str) else str(share)
                    result.findings += [finding(Kind.UNREADABLE, tile, one, message) for one, _ in objects]
                    continue
                comparison = _TileComparison(self, tile, objects, writing, wanted, share)
                comparison.complete = len(objects) == share.objects and not _may_be_pending(tile, examination)
                try:
                    result.findings += (_judged(one, writing) for one in comparison.findings())
                except RangeReadError as error:
                    message = f"its records could not be read from Kafka ({error})"
                    result.findings.append(finding(Kind.UNREADABLE, tile, objects[0][0], message))
                result.compared += comparison.compared
        return result

    def _share(self, tile: Tile, replay: str | None, horizon: int | None, examination: Examination) -> "Share | str":
        replays = examination.replays
        if replay is None:
            own = replays.of_member(tile.span, tile.objects[0].name.generation)
            objects = sum(one.name.replay is None for one in tile.objects)
            return Share(_all_records, objects, own is not None and replays.is_settled(own), horizon)
        noted = replays.by_id(replay)
        if noted is None:
            return "there is no note of its replay, so it is not known which records it should hold"
        refused = self._refused(noted, examination)
        if isinstance(refused, str):
            return refused
        replaced = [key for key in noted.keys if replays.is_replaced(key)]
        of = noted.replay
        return Share(refused, len(noted.keys) - len(replaced), bool(replaced), of.horizon, of.keeps_left_out)

    def _refused(self, noted: NotedReplay, examination: Examination) -> "Records | str":
        source = noted.replay.source
        writing, name = self._writing_of(source.revision), parse_object_key("", source.path)
        if isinstance(writing, str):
            return writing
        if name is None or name.replay is None:
            return Refused(writing.layout_at(source.horizon), _all_records)
        origin = examination.replays.by_id(name.replay)
        if origin is None:
            return "there is no note of the replay before"
        before, of = self._refused(origin, examination), origin.replay
        if isinstance(before, str):
            return before
        return Refused(writing.layout_at(of.horizon, keeps_left_out=of.keeps_left_out), before)

    def records(self, wanted: Range | None, estimate: int) -> Iterator[pa.RecordBatch]:
        """Read records; each call reads them anew."""
        if wanted is not None:
            for read in self._reader.read([ReadRequest(wanted, estimate)]):
                yield from (batch for batch in read.batches() if batch.num_rows)

    def rows(self, content: Content, one: StoredObject) -> Generator[pa.RecordBatch, None, None]:
        """Read an object; each call reads it anew."""
        with closing(self._read_object(one.key)) as of_object:
            yield from content.stored(of_object)


def _all_records(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


@dataclass(frozen=True, slots=True)
class Refused:
    """Selects the records that a layout puts in quarantine."""

    layout: TopicLayout
    of: Records

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = self.of(batch)
        if rows.num_rows:
            for path, some in by_path(rows, self.layout):
                if path == QUARANTINE:
                    return some.select(batch.schema.names)
        return rows.slice(0, 0)


@dataclass(frozen=True, slots=True)
class Share:
    """Share of a range that a member has written, or a replay of its quarantine."""

    records: Records
    """Selects the share's records of a batch."""
    objects: int
    """Number of live objects that there should be."""
    is_replayed: bool
    """Whether its quarantine was replayed, so that another share has these records."""
    horizon: int | None = None
    """Watermark that separated its late records; None: none came late."""
    keeps_left_out: bool = False
    """Whether records that the revision leaves out stay in quarantine."""


class _TileComparison:
    """The objects of one range and one revision, against the records of the range."""

    def __init__(
        self,
        deep: DeepVerification,
        tile: Tile,
        objects: Sequence[Known],
        writing: Writing,
        wanted: Range | None,
        share: Share,
    ) -> None:
        self._share = share
        self._deep = deep
        self._tile = tile
        self._objects = objects
        self._writing = writing
        self._layout = writing.layout_at(share.horizon, keeps_left_out=share.keeps_left_out)
        self._wanted = wanted
        self._estimate = max(64 * 1024, sum(one.size for one, _ in objects))
        self.complete = True
        """Whether a path without an object is missing: not while the range is being stored, or an object is damaged."""
        self.compared = 0

    def findings(self) -> Iterator[Finding]:
        tallies: defaultdict[str, Tally] = defaultdict(Tally)
        differences: list[_Difference | None] = []
        for number, some in enumerate(passes(self._objects, self._at_once)):
            differences += self._exactly(some, tallies if number == 0 else None)
        in_kafka = sum(tally.records for tally in tallies.values())
        lacking = in_kafka < sum(facts.records for _, facts in self._objects)
        partly: list[Known] = []
        for (one, facts), difference in zip(self._objects, differences, strict=True):
            tally = tallies[one.name.path]
            if tally.records < facts.records and lacking:
                partly.append((one, facts))
            else:
                yield from self._wholly(one, facts, tally, difference)
        for some in passes(partly, self._at_once):
            yield from self._partly(some, tallies)
        if self.complete:
            yield from self._paths_without_objects(tallies)

    def _content(self, one: StoredObject) -> Content:
        return content_of(self._writing, one.name.topic_partition, one.name.path, one.facts)

    @property
    def _at_once(self) -> int:
        is_sorted = any(self._content(one).sorting for one, _ in self._objects)
        return SORTED_AT_ONCE if is_sorted else AT_ONCE

    def _paths_without_objects(self, tallies: Mapping[str, Tally]) -> Iterator[Finding]:
        beside = self._objects[0][0]
        paths = {one.name.path for one, _ in self._objects}
        for path, tally in sorted(tallies.items()):
            if path not in paths and not (path == QUARANTINE and self._share.is_replayed):
                message = (
                    f"Kafka has {tally.records} records for {path or 'no path'}, the first at offset {tally.first}, "
                    "and the range has no such object"
                )
                where = (beside.name.topic_partition, *self._tile.span)
                yield Finding(Kind.MISSING, *where, message, None, beside.name.generation)

    def _exactly(
        self, objects: Sequence[Known], tallies: "defaultdict[str, Tally] | None"
    ) -> "list[_Difference | None]":
        with ExitStack() as stack:
            comparisons = [_exact(self._content(one), self._rows(one, facts, stack)) for one, facts in objects]
            self._pass([one for one, _ in objects], comparisons, tallies)
        return [*map(_difference, comparisons)]

    def _rows(self, one: StoredObject, facts: ObjectFacts, stack: ExitStack) -> Iterator[pa.RecordBatch]:
        rows = stack.enter_context(closing(self._deep.rows(self._content(one), one)))
        # All of a small one is read when its first row is asked for, so it is not open until the last.
        return chain.from_iterable(map(list, [rows])) if _size(facts) <= SMALL_BYTES else rows

    def _pass(
        self,
        objects: Sequence[StoredObject],
        comparisons: Sequence[Comparison],
        tallies: "defaultdict[str, Tally] | None",
    ) -> None:
        """Read all records of the range once, and give each to the comparisons of its path."""
        comparisons_of: defaultdict[str, list[Comparison]] = defaultdict(list)
        for one, comparison in zip(objects, comparisons, strict=True):
            comparisons_of[one.name.path].append(comparison)
        for batch in map(self._share.records, self._deep.records(self._wanted, self._estimate)):
            for path, rows in by_path(batch, self._layout) if batch.num_rows else ():
                if tallies is not None:
                    tallies[path].add(rows)
                for comparison in comparisons_of.get(path, ()):
                    comparison.add(rows)
        for comparison in comparisons:
            comparison.finish()

    def _wholly(
        self, one: StoredObject, facts: ObjectFacts, tally: Tally, difference: "_Difference | None"
    ) -> Iterator[Finding]:
        wrong = tally.differences(facts)
        if wrong:
            yield finding(Kind.WRONG_FACTS, self._tile, one, f"its facts say {', '.join(wrong)}")
        if difference is not None:
            yield finding(difference[0], self._tile, one, difference[1])
        else:
            self.compared += tally.records

    def _partly(self, objects: Sequence[Known], tallies: Mapping[str, Tally]) -> Iterator[Finding]:
        """Compare objects with the records that Kafka still has, and all of each with its own facts."""
        with ExitStack() as stack:
            owns = [OwnFacts(self._content(one), facts) for one, facts in objects]
            comparisons = [
                _partial(self._content(one), own.through(self._rows(one, facts, stack)))
                for (one, facts), own in zip(objects, owns, strict=True)
            ]
            self._pass([one for one, _ in objects], comparisons, None)
        for (one, facts), own, comparison in zip(objects, owns, comparisons, strict=True):
            left = tallies[one.name.path].records
            difference = _difference(comparison)
            if difference is None and (of_facts := own.difference()) is not None:
                difference = Kind.WRONG_CONTENT, of_facts
            if difference is not None:
                yield finding(difference[0], self._tile, one, difference[1])
                continue
            self.compared += left
            message = (
                f"Kafka has {left} of its {facts.records} records now; the others were compared with its own facts only"
            )
            if own.surplus:
                message += ", and not these, because values contain the delimiter"
            yield finding(Kind.NOT_COMPARED, self._tile, one, message)


_Difference = tuple[Kind, str]


def _difference(comparison: Comparison) -> _Difference | None:
    if comparison.difference is None:
        return None
    return Kind.NOT_COMPARED if comparison.is_unreadable else Kind.WRONG_CONTENT, comparison.difference


def _exact(content: Content, stored: Iterator[pa.RecordBatch]) -> Comparison:
    return SortedComparison(content, stored) if content.sorting else ExactComparison(content, stored)


def _partial(content: Content, stored: Iterator[pa.RecordBatch]) -> Comparison:
    return SortedPartialComparison(content, stored) if content.sorting else PartialComparison(content, stored)


def passes(objects: Iterable[Known], at_once: int = AT_ONCE) -> Iterator[list[Known]]:
    """Yield those objects of a range together that are compared while its records are read once.

    `at_once`: how many large ones.
    """
    chosen: list[Known] = []
    held = large = 0
    for one, facts in objects:
        size = _size(facts)
        is_small = size <= SMALL_BYTES
        if chosen and (held + size > HELD_BYTES if is_small else large == at_once):
            yield chosen
            chosen, held, large = [], 0, 0
        chosen.append((one, facts))
        held += size if is_small else 0
        large += not is_small
    if chosen:
        yield chosen


def _size(facts: ObjectFacts) -> int:
    """Return about how many bytes the items of an object take; of those of earlier releases it is not known."""
    if facts.payload is None:
        return SMALL_BYTES + 1
    return sum(facts.payload) + facts.records * _ITEM_BYTES


def _judged(found: Finding, writing: Writing) -> Finding:
    if not writing.other_rules or not found.is_problem:
        return found
    message = f"{found.message}; but it was written by {writing.other_rules}: verify it with that build"
    return replace(found, kind=Kind.UNREADABLE, message=message)


def _may_be_pending(tile: Tile, examination: Examination) -> bool:
    before = examination.evidence.before
    return before is not None and tile.span[1] > before.offset


def finding(kind: Kind, tile: Tile, one: StoredObject, message: str) -> Finding:
    return Finding(kind, one.name.topic_partition, *tile.span, message, one.key, one.name.generation)
