"""Whether the objects of a partition tile its stored offsets. Pure.

The rules are those of docs/design/intents.md: within a generation no offset is in two ranges; everything from the first
stored offset to the committed one is in a range, recorded as lost or skipped, or without records; behind the committed
offset there is only what a pending intent promises.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from logpersister.plan.intents import same_topic
from logpersister.ranges import Offset, Span, common, minus, union
from logpersister.records.escaping import QUARANTINE, own_path
from logpersister.report.human import instant
from logpersister.storage.facts import ANY_BYTES, ObjectFacts
from logpersister.storage.names import ObjectName
from logpersister.verify.deleted import Deleted
from logpersister.verify.evidence import PartitionEvidence, StoredObject
from logpersister.verify.findings import Finding, Kind
from logpersister.verify.replays import Replays

_CHECKSUM = re.compile(r"crc32:[0-9a-f]{8}(-[0-9a-f]{8}){3}|batches:[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class MissingOffsets:
    """Offsets that are in no object and nowhere explained: Kafka has to be asked whether it has records there."""

    span: Span
    generation: int
    before_first: bool = False
    """Whether the offsets lie before the first stored offset."""
    within: StoredObject | None = None
    """The object of a range at whose end Kafka gave nothing and did not show why; None: no object has the offsets."""


@dataclass(frozen=True, slots=True)
class Tile:
    """The objects of one range: one, or one for each partition path."""

    span: Span
    objects: tuple[StoredObject, ...]
    """Live objects: not what was replayed since."""


@dataclass(frozen=True, slots=True)
class _Part:
    """What members, or a replay of history, have stored in one generation."""

    generation: int
    spans: list[Span]
    whole: Span
    """Offsets of which none may be missing."""


@dataclass(slots=True)
class Examination:
    """What came out for one partition."""

    evidence: PartitionEvidence
    findings: list[Finding] = field(default_factory=list)
    missing: list[MissingOffsets] = field(default_factory=list)
    tiles: list[Tile] = field(default_factory=list)
    """Of all generations, with whole facts: what the deep form reads."""
    replays: Replays = field(default_factory=lambda: Replays((), ()))
    deleted: Deleted = field(default_factory=lambda: Deleted({}))

    def add(
        self, kind: Kind, span: Span, message: str, one: StoredObject | None = None, *, generation: int | None = None
    ) -> None:
        key, number = (one.key, one.name.generation) if one else (None, generation)
        self.findings.append(Finding(kind, self.evidence.partition, *span, message, key, number))

    @property
    def has_begun(self) -> bool:
        """Whether the group has committed or stored anything here."""
        return self.evidence.before is not None or self.evidence.after is not None or bool(self.tiles)

    @property
    def objects(self) -> Iterator[StoredObject]:
        return (one for tile in self.tiles for one in tile.objects)


def examine(evidence: PartitionEvidence) -> Examination:
    """Judge one partition as far as that is possible without reading records."""
    result = Examination(evidence)
    noted = [one for one in evidence.replays if same_topic(one.replay.source.topic_id, evidence.topic_id)]
    result.replays = Replays(noted, (one.key for one in evidence.objects))
    result.deleted = Deleted.of(evidence)
    _check_replays(result)
    by_generation: defaultdict[int, list[StoredObject]] = defaultdict(list)
    for one in evidence.objects:
        if not _is_left(one, result) and _is_own(one, result) and _is_live(one, result):
            by_generation[one.name.generation].append(one)
    tiles = {number: _tiles(objects) for number, objects in sorted(by_generation.items())}
    for generation in tiles.values():
        for tile in generation:
            _check_tile(tile, result)
        _check_overlaps(generation, result)
    result.tiles = [tile for generation in tiles.values() for tile in generation]
    settled = {number: _settled(number, generation, result) for number, generation in tiles.items()}
    for number, found in settled.items():
        result.missing += filter(None, (_unexplained(tile, number) for tile in found))
    _find_missing({number: [tile.span for tile in found] for number, found in settled.items() if found}, result)
    if not result.has_begun:
        _note_what_waits(evidence, result)
    return result


def _note_what_waits(evidence: PartitionEvidence, result: Examination) -> None:
    kafka = evidence.kafka
    if kafka is not None and kafka.log_start < kafka.end:
        span = (kafka.log_start, kafka.end)
        result.add(Kind.NOT_BEGUN, span, "Kafka has records, and the group has neither committed nor stored anything")


def _is_left(one: StoredObject, result: Examination) -> bool:
    """Whether an object is of a range that was deleted on purpose: then it is neither there nor missing."""
    if one.group != result.evidence.group or not result.deleted.has(one.name):
        return False
    message = "its range is deleted on purpose, and this object is left; repeat logpersister delete"
    result.add(Kind.DELETED, (one.name.start, one.claimed_end), message, one)
    return True


def _is_own(one: StoredObject, result: Examination) -> bool:
    evidence, span = result.evidence, (one.name.start, one.claimed_end)
    if one.group != evidence.group:
        whose = f"written by group {one.group}" if one.group else "not written by logpersister"
        result.add(Kind.FOREIGN, span, f"{whose}, so it is ignored", one)
        return False
    facts = one.facts
    if facts is None:
        result.add(Kind.DAMAGED, span, one.fault or "its facts are missing", one)
        return one.promised_end is not None
    if not same_topic(facts.topic_id, evidence.topic_id):
        message = f"of an earlier topic of this name (id {facts.topic_id}), so it is ignored"
        result.add(Kind.OTHER_TOPIC, span, message, one)
        return False
    name = (one.name.topic_partition, one.name.generation, one.name.start)
    said = (facts.range.partition, facts.generation, facts.range.start)
    if name != said:
        message = f"its metadata says {facts.range} of generation {facts.generation}: it was copied or renamed"
        result.add(Kind.MISNAMED, span, message, one)
        return False
    problem = _implausible(one.name, facts)
    if problem:
        result.add(Kind.WRONG_FACTS, span, problem, one)
    return True


def _is_live(one: StoredObject, result: Examination) -> bool:
    """Whether the records of an object are its own, and not those of another one by the note of a replay."""
    span, replays = (one.name.start, one.claimed_end), result.replays
    noted = None if one.name.replay is None else replays.by_id(one.name.replay)
    if one.name.replay is not None and noted is None:
        message = "a replay of quarantine wrote it, of which there is no note: it was deleted, or not copied with it"
        result.add(Kind.WRONG_FACTS, span, message, one)
        return True
    if noted is not None and not replays.is_settled(noted):
        message = f"of a replay of {noted.source_key} that is not finished, which has its records until then"
        result.add(Kind.REPLAY, span, f"{message}; run logpersister quarantine replay", one)
        return False
    if replays.is_replaced(one.key):
        message = "its records were replayed and are in other objects; the next replay deletes it"
        result.add(Kind.REPLAY, span, message, one)
        return False
    return True


def _check_replays(result: Examination) -> None:
    facts = {one.key: one.facts for one in result.evidence.objects}
    for noted in result.replays.noted:
        source = noted.replay.source
        span = source.range.span
        if common([span], result.deleted.in_generation(source.generation)):
            continue
        if result.replays.lost(noted):
            message = f"{noted.source_key} was deleted while its replay was under way: {source.records} records"
            result.add(Kind.MISSING, span, message, generation=source.generation)
        for key in result.replays.missing(noted):
            message = f"the replay of {noted.source_key} has stored {noted.keys[key]} records in {key}, which has gone"
            result.add(Kind.MISSING, span, message, generation=source.generation)
        for key, records in noted.keys.items():
            said = facts.get(key)
            if said is not None and said.records != records:
                message = f"{key} has {said.records} records, and the note of its replay says {records}"
                result.add(Kind.WRONG_FACTS, span, message, generation=source.generation)


def _implausible(name: ObjectName, facts: ObjectFacts) -> str | None:
    """Return what cannot be true of an object, whatever its records are."""
    if name.path == QUARANTINE and facts.parser == ANY_BYTES and facts.horizon is None:
        return "it is in quarantine, but its revision has no parser that refuses anything"
    if own_path(name.path) != name.path and facts.horizon is None:
        return "it stands where late records do, but its range has no horizon by which any came late"
    spanned = facts.last - facts.first + 1
    fewest = 1 if facts.first == facts.last else 2
    if not fewest <= facts.records <= spanned:
        return f"it says {facts.records} records at offsets {facts.first} to {facts.last}"
    if (facts.tombstones or 0) > facts.records:
        return f"it says {facts.tombstones} tombstones among {facts.records} records"
    if not _CHECKSUM.fullmatch(facts.checksum):
        return f"its checksum {facts.checksum!r} is none"
    return None


def _tiles(objects: Iterable[StoredObject]) -> list[Tile]:
    ranges: defaultdict[Span, list[StoredObject]] = defaultdict(list)
    for one in objects:
        ranges[one.name.start, one.claimed_end].append(one)
    return [
        Tile(span, tuple(sorted(found, key=lambda one: (one.name.path, one.key))))
        for span, found in sorted(ranges.items())
    ]


def _check_tile(tile: Tile, result: Examination) -> None:
    """Check that several objects of one range fit together: one for each path, each record in one of them."""
    if len(tile.objects) == 1:
        return
    by_path: dict[tuple[str, str | None], StoredObject] = {}
    for one in tile.objects:
        other = by_path.setdefault((one.name.path, one.name.replay), one)
        if other is not one:
            result.add(Kind.OVERLAP, tile.span, f"the same records are also in {other.key}", one)
    layouts = [one for one in tile.objects if one.name.path != QUARANTINE and one.name.replay is None]
    for one in layouts:
        if bool(one.name.path) != bool(layouts[0].name.path):
            result.add(Kind.OVERLAP, tile.span, f"the same range is also in {layouts[0].key}", one)
    known = [(one, one.facts) for one in by_path.values() if one.facts is not None]
    records = sum(facts.records for _, facts in known)
    offsets = tile.span[1] - tile.span[0]
    if records > offsets:
        message = f"its objects say {records} records together, in a range of {offsets} offsets"
        result.add(Kind.WRONG_FACTS, tile.span, message, known[0][0])
    revisions = {facts.revision for _, facts in known}
    if len(revisions) > 1:
        message = f"its objects were written under different revisions: {', '.join(sorted(revisions))}"
        result.add(Kind.WRONG_FACTS, tile.span, message, known[0][0])
    horizons = {facts.horizon for _, facts in known}
    if len(horizons) > 1:
        message = "its objects were written by different horizons, so that its late records may stand in two of them"
        result.add(Kind.WRONG_FACTS, tile.span, message, known[0][0])
    _check_ends(known, tile, result)


def _check_ends(known: Sequence[tuple[StoredObject, ObjectFacts]], tile: Tile, result: Examination) -> None:
    """Check that no two objects of a range claim the same offset, as far as first and last offsets show it."""
    claims: dict[Offset, StoredObject] = {}
    for one, facts in known:
        for offset in {facts.first, facts.last}:
            other = claims.setdefault(offset, one)
            if other is not one:
                message = f"it says that it has offset {offset}, which {other.key} says too"
                result.add(Kind.WRONG_FACTS, tile.span, message, one)
                return


def _unexplained(tile: Tile, generation: int) -> MissingOffsets | None:
    """Return the offsets at the end of a range of which Kafka had only said nothing when it was stored."""
    known = [(one, one.facts) for one in tile.objects if one.facts is not None]
    silent = max((facts.unexplained for _, facts in known), default=0)
    begin = max([tile.span[1] - silent, *(facts.last + 1 for _, facts in known)])
    if begin >= tile.span[1] or not silent:
        return None
    return MissingOffsets((begin, tile.span[1]), generation, within=known[0][0])


def _check_overlaps(tiles: Sequence[Tile], result: Examination) -> None:
    furthest: Tile | None = None
    for tile in tiles:
        if furthest is not None and tile.span[0] < furthest.span[1]:
            both = (tile.span[0], min(tile.span[1], furthest.span[1]))
            message = f"the offsets are also in {furthest.objects[0].key}, of the same generation"
            result.add(Kind.OVERLAP, both, message, tile.objects[0])
        if furthest is None or tile.span[1] > furthest.span[1]:
            furthest = tile


def _settled(generation: int, tiles: Sequence[Tile], result: Examination) -> list[Tile]:
    """Return the tiles that the committed offset covers; what stands behind it must have been promised.

    Only in the generation of the committed offset: a lower one has its objects behind it while a higher one replays.
    """
    evidence = result.evidence
    if evidence.before is None or generation != evidence.current_generation:
        return list(tiles)
    after = max(entry.offset for entry in (evidence.before, evidence.after) if entry is not None)
    promised = evidence.promised()
    settled: list[Tile] = []
    for tile in tiles:
        if tile.span[0] < evidence.before.offset:
            settled.append(tile)
        if tile.span[1] > evidence.before.offset and tile.span[1] > after and tile.span not in promised:
            ours = evidence.before.metadata is not None
            why = "no pending intent promises it" if ours else "somebody has set the group's offset"
            message = f"the group has committed offset {evidence.before.offset} and {why}"
            for one in tile.objects:
                result.add(Kind.BEYOND_COMMIT, tile.span, message, one)
    return settled


def _find_missing(spans: dict[int, list[Span]], result: Examination) -> None:
    evidence = result.evidence
    if evidence.before is None and spans:
        everything = [span for found in spans.values() for span in found]
        whole = (min(everything)[0], max(end for _, end in everything))
        message = "the group has no committed offset here, so objects are checked up to the last one"
        result.add(Kind.UNCOMMITTED, whole, message)
    committed = evidence.before.offset if evidence.before else 0
    losses = _losses(result)
    _name_deleted(result)
    missing_in_all = _missing_in_all(spans, committed, [*losses, *result.deleted.since_generation(0)], result)
    parts = [part for number, own in spans.items() for part in _parts(number, own, committed, evidence)]
    for part in parts:
        # What no generation has is told once, above. A higher one may have replayed it; one that overlaps nowhere has
        # taken turns with this one.
        others = [
            span
            for other in parts
            if other is not part and (other.generation > part.generation or not common(part.spans, other.spans))
            for span in other.spans
        ]
        explained = [*part.spans, *losses, *others, *missing_in_all, *result.deleted.since_generation(part.generation)]
        result.missing += [MissingOffsets(span, part.generation) for span in minus([part.whole], explained)]
    result.missing.sort(key=lambda missing: missing.span)


def _parts(generation: int, spans: list[Span], committed: Offset, evidence: PartitionEvidence) -> Iterator[_Part]:
    """Yield what a replay of history has stored in a generation, and what members have stored there behind it."""
    of_members = spans
    for replay in evidence.history:
        if replay.generation == generation:
            own = [span for span in spans if replay.start <= span[0] < replay.end]
            of_members = [span for span in spans if not replay.start <= span[0] < replay.end]
            if own:
                hull = (min(own)[0], max(stop for _, stop in own))
                yield _Part(generation, own, (replay.start, replay.end) if replay.done else hull)
    if of_members:
        end = max(stop for _, stop in of_members)
        if generation == evidence.current_generation:
            end = max(end, committed)
        yield _Part(generation, of_members, (min(of_members)[0], end))


def _missing_in_all(
    spans: dict[int, list[Span]], committed: Offset, losses: list[Span], result: Examination
) -> list[Span]:
    evidence = result.evidence
    everything = union(span for found in spans.values() for span in found)
    begin = everything[0][0] if everything else committed
    end = max([committed, *(stop for _, stop in everything)])
    missing = minus([(begin, end)] if begin < end else [], [*everything, *losses])
    result.missing += [MissingOffsets(span, evidence.current_generation) for span in missing]
    readable = evidence.readable
    if evidence.from_earliest and readable is not None and readable.start < begin:
        early = minus([(readable.start, min(begin, readable.end))], losses)
        result.missing += [MissingOffsets(span, evidence.current_generation, before_first=True) for span in early]
    return missing


def _name_deleted(result: Examination) -> None:
    for generation, span, at in result.deleted.named():
        message = f"deleted on purpose at {instant(at)} (logpersister delete)"
        result.add(Kind.DELETED, span, message, generation=generation)


def _losses(result: Examination) -> list[Span]:
    evidence = result.evidence
    found: list[Span] = []
    for loss in evidence.losses:
        if not same_topic(loss.topic_id, evidence.topic_id):
            continue
        span = loss.range.span
        found.append(span)
        if loss.cause == "lost":
            message = "recorded as lost: Kafka had deleted these offsets before they were stored"
            result.add(Kind.LOST, span, message, generation=loss.generation)
        else:
            message = "recorded as skipped: the group's offset had been set forward"
            result.add(Kind.SKIPPED, span, message, generation=loss.generation)
    return found
