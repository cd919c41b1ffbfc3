"""Compares, again and again, what the stable group and the shadow have both stored since the shadow began.

Nothing is remembered outside of this process: a partition that comes from another member of the shadow is compared from
the shadow's begin on, and one that goes takes its figures with it. So the figures of all members together count nothing
twice.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from logpersister.member.shadow.alignment import ComparedObject, OverlappingRanges, align
from logpersister.member.shadow.comparison import Verdict, compare
from logpersister.member.shadow.stored_objects import Listed, TooManyError, Window, Windows
from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import Offset, TopicPartition
from logpersister.report.shadow import MAX_EXAMPLES, NOTHING, Both, Difference, Figures, ShadowReport
from logpersister.storage.losses import Loss

Positions = Mapping[TopicPartition, CommittedOffset | None]


class Progress(Protocol):
    """`groups.GroupPositions`, as far as it is needed here."""

    def committed(self, partitions: Collection[TopicPartition]) -> Positions: ...

    def ends(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, Offset]: ...

    def compacted(self, topic: str) -> bool | None: ...


class Objects(Protocol):
    """`stored_objects.StoredObjects`."""

    def find(
        self, topic: str, windows: Windows, generations: Collection[int], folders: Collection[str] | None = None
    ) -> Mapping[TopicPartition, Sequence[Listed]]: ...

    def newest(self, topic: str) -> Sequence[str]: ...

    def stored(self, found: Iterable[Listed]) -> Iterable[ComparedObject]: ...


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """One of the two groups."""

    generation: int
    progress: Progress
    objects: Objects
    losses: Callable[[], Sequence[Loss]]

    def generations(self, positions: Positions) -> frozenset[int]:
        """Return the generations in which it stores now: that of its manifest, and those that are being finished."""
        known = [committed.metadata for committed in positions.values() if committed is not None]
        return frozenset({self.generation, *(metadata.generation for metadata in known if metadata is not None)})


@dataclass(slots=True)
class _Partition:
    """How far a partition has been compared."""

    frontier: Offset | None
    """Everything before it is compared; None: it is not known where the shadow began."""
    limit: Offset = 0
    """How far both groups were at the last comparison."""
    figures: Figures = NOTHING
    examples: list[Difference] = field(default_factory=list)


class Comparer:
    """The comparison of the partitions that this member owns. `begin_at` may be called by any thread."""

    def __init__(
        self,
        stable: ComparedGroup,
        shadow: ComparedGroup,
        owned: Callable[[], Collection[TopicPartition]],
        *,
        same_layout: bool,
        quarantines_late: bool = False,
        remark: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Begin with nothing compared.

        Args:
            quarantines_late: whether one of them puts late records into quarantine.
            remark: added to what is said of differences, for example that the manifests differ in what is read.
        """
        self._stable = stable
        self._shadow = shadow
        self._owned = owned
        self._same_layout = same_layout
        self._quarantines_late = quarantines_late
        self._remark = remark
        self._since = now()
        self._ends: dict[TopicPartition, Offset] = {}
        self._targets: dict[TopicPartition, Offset] = {}
        self._partitions: dict[TopicPartition, _Partition] = {}

    def begin_at(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Offset | None]:
        """Return where the shadow begins partitions without a committed offset; None: as its manifest says."""
        positions = self._stable.progress.committed(partitions)
        return {p: None if committed is None else committed.offset for p, committed in positions.items()}

    def compare_new(
        self,
        aim: Callable[[Mapping[TopicPartition, Offset]], None] = lambda _: None,
        show: Callable[[ShadowReport], None] = lambda _: None,
    ) -> ShadowReport:
        """Compare what is new; return what has been compared by now."""
        owned = set(self._owned())
        self._partitions = {p: state for p, state in self._partitions.items() if p in owned}
        stable, shadow = self._stable.progress.committed(owned), self._shadow.progress.committed(owned)
        aim(self._aimed(stable, shadow))
        errors: list[str] = []
        for topic, limits in self._comparable_offsets(stable, shadow).items():
            try:
                self._compare(topic, limits, stable, shadow)
            except Exception as error:  # the other topics go on
                errors.append(f"topic {topic}: {str(error) or type(error).__name__}")
            show(self.report(errors[0] if errors else None))
        return self.report(errors[0] if errors else None)

    def report(self, error: str | None = None) -> ShadowReport:
        """Return what has been compared by now, of the partitions that are ours."""
        states = [state for _, state in sorted(self._partitions.items())]
        examples = tuple(example for state in states for example in state.examples)[:MAX_EXAMPLES]
        return ShadowReport(
            self._since,
            sum(1 for state in states if state.figures.offsets),
            sum((state.figures for state in states), NOTHING),
            examples,
            error,
        )

    def _aimed(self, stable: Positions, shadow: Positions) -> dict[TopicPartition, Offset]:
        """Return how far the shadow should go: as far as the stable group is, so that their boundaries meet there.

        A target stays until it is reached: a shadow that is slower than the stable group would else meet no boundary.
        Where the stable group has no offset, nothing can be compared: what is there is stored, once.
        """
        unknown = [p for p, committed in stable.items() if committed is None and p not in self._ends]
        if unknown:
            self._ends.update(self._stable.progress.ends(unknown))
        targets: dict[TopicPartition, Offset] = {}
        for partition, committed in stable.items():
            before, ours = self._targets.get(partition, 0), shadow.get(partition)
            if ours is not None and ours.offset < before:
                targets[partition] = before
            else:
                targets[partition] = committed.offset if committed else self._ends.get(partition, 0)
        self._targets = targets
        return targets

    def _comparable_offsets(self, stable: Positions, shadow: Positions) -> dict[str, dict[TopicPartition, Offset]]:
        """Return, by topic, how far the partitions can be compared in which that is further than before."""
        comparable: dict[str, dict[TopicPartition, Offset]] = {}
        for partition in sorted(stable.keys() & shadow.keys()):
            one, other = stable[partition], shadow[partition]
            if one is None or other is None:
                continue
            state = self._partitions.get(partition)
            if state is None:
                state = self._partitions[partition] = _Partition(_begin(one, other))
            limit = min(one.offset, other.offset)
            if limit > max(state.limit, state.frontier or 0):
                comparable.setdefault(partition.topic, {})[partition] = limit
        return comparable

    def _compare(
        self, topic: str, limits: Mapping[TopicPartition, Offset], stable: Positions, shadow: Positions
    ) -> None:
        states = self._partitions
        ours = self._shadow.objects.find(
            topic,
            {p: Window(states[p].frontier or 0, limit) for p, limit in limits.items()},
            self._shadow.generations({p: shadow[p] for p in limits}),
        )
        begins = {p: states[p].frontier if states[p].frontier is not None else _first(ours.get(p, ())) for p in limits}
        windows = {p: Window(begin, limits[p]) for p, begin in begins.items() if begin is not None}
        theirs = self._find_stable(topic, windows, self._stable.generations({p: stable[p] for p in limits}), ours)
        of_stable = _by_partition(self._stable.objects.stored(one for p in windows for one in theirs.get(p, ())))
        of_shadow = _by_partition(self._shadow.objects.stored(one for p in windows for one in ours.get(p, ())))
        losses: list[Loss] | None = None
        for partition, window in windows.items():
            state = states[partition]
            found = align(of_stable.get(partition, ()), of_shadow.get(partition, ()), window.begin, window.limit)
            overlaps = found.overlaps if state.frontier is not None else _from_common_begin(found.overlaps)
            for overlap in overlaps:
                verdict = compare(overlap, same_layout=self._same_layout, quarantines_late=self._quarantines_late)
                if verdict.difference is not None and losses is None:
                    losses = [*self._stable.losses(), *self._shadow.losses()]
                self._count(partition, overlap, verdict, losses or ())
            if overlaps or state.frontier is not None:
                state.frontier = found.frontier
        for partition, limit in limits.items():
            states[partition].limit = limit

    def _find_stable(
        self,
        topic: str,
        windows: Windows,
        generations: Collection[int],
        ours: Mapping[TopicPartition, Sequence[Listed]],
    ) -> Mapping[TopicPartition, Sequence[Listed]]:
        """Find the stable group's objects; among too many, where the shadow has its own, and in the last folders."""
        try:
            return self._stable.objects.find(topic, windows, generations)
        except TooManyError:
            if not self._same_layout:
                raise
        folders = {name.path for found in ours.values() for name, _ in found}
        folders |= set(self._stable.objects.newest(topic))
        return self._stable.objects.find(topic, windows, generations, sorted(folders))

    def _count(
        self, partition: TopicPartition, overlap: OverlappingRanges, verdict: Verdict, losses: Iterable[Loss]
    ) -> None:
        state = self._partitions[partition]
        remark = self._remark
        if verdict.difference is not None:
            lost = any(_concerns(loss, partition, overlap) for loss in losses)
            compacted = self._shadow.progress.compacted(partition.topic) if verdict.fewer and not lost else False
            if lost or compacted:  # Kafka had not the same records any more for the one as for the other
                state.figures += Figures(checksums_impossible=1)
                return
            if compacted is None:
                remark += " (Kafka does not tell whether it compacts the topic)"
        state.figures += _figures(overlap, verdict)
        if verdict.difference is not None and len(state.examples) < MAX_EXAMPLES:
            state.examples.append(Difference(partition, overlap.start, overlap.end, verdict.difference + remark))


def _concerns(loss: Loss, partition: TopicPartition, overlap: OverlappingRanges) -> bool:
    return loss.range.partition == partition and loss.range.start < overlap.end and overlap.start < loss.range.end


def _begin(stable: CommittedOffset, shadow: CommittedOffset) -> Offset | None:
    """Return where the shadow began, if the stable group was further by then."""
    since = shadow.metadata.since if shadow.metadata is not None else None
    began = stable.metadata.since if stable.metadata is not None else None
    return None if since is not None and began is not None and began > since else since


def _first(found: Sequence[Listed]) -> Offset | None:
    return min((name.start for name, _ in found), default=None)


def _from_common_begin(overlaps: Sequence[OverlappingRanges]) -> Sequence[OverlappingRanges]:
    """Leave out what lies before both begin: the shadow's first object says where it began only if that was stored."""
    for index, overlap in enumerate(overlaps):
        if overlap.begins_together:
            return overlaps[index:]
    return ()


def _figures(overlap: OverlappingRanges, verdict: Verdict) -> Figures:
    different = verdict.difference is not None
    return Figures(
        offsets=overlap.end - overlap.start,
        ranges=len({one.start for one in overlap.shadow}),
        records=_both(overlap, lambda one: one.facts.records),
        objects=_both(overlap, lambda _: 1),
        bytes=_both(overlap, lambda one: one.size),
        checksums_compared=int(verdict.checksum_compared),
        checksums_impossible=int(not verdict.checksum_compared and not different),
        differences=int(different),
    )


def _both(overlap: OverlappingRanges, value: Callable[[ComparedObject], int]) -> Both:
    return Both(sum(map(value, overlap.stable)), sum(map(value, overlap.shadow)))


def _by_partition(objects: Iterable[ComparedObject]) -> dict[TopicPartition, list[ComparedObject]]:
    found: dict[TopicPartition, list[ComparedObject]] = {}
    for one in objects:
        found.setdefault(one.facts.range.partition, []).append(one)
    return found
