"""Plans the replay of a topic: asks Kafka and the buckets where it begins and ends, and notes that once and for all."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from logpersister.backup.listing import TopicBackup
from logpersister.backup.part import BackupPart
from logpersister.backup.ranges import PartitionBackup
from logpersister.group.offsets import OffsetReader
from logpersister.group.replay_group import replay_group
from logpersister.plan.intents import CommittedOffset, UnknownMetadataError, same_topic
from logpersister.ranges import Offset, Range, Span, TopicPartition
from logpersister.replay.bounds import OutOfReachError, StoredOnce, bounds
from logpersister.replay.moments import BackupMoments
from logpersister.storage.current import Current, change_current, get_current
from logpersister.storage.replayed import ReplayNote, begin_replay, get_replay
from logpersister.storage.store import ObjectStore

_RUN_A_MEMBER: Final = "run a member of the group, which finds where it stands, and repeat this"


class ReplayError(Exception):
    """A topic cannot be replayed as it was asked for; the message says why, and what to do."""

    def __init__(self, message: str, *, passes: bool = False) -> None:
        """Say what is wrong, and whether the same replay may do a little later, without anybody changing anything."""
        super().__init__(message)
        self.passes = passes


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be replayed: records of a time, in milliseconds since the epoch."""

    since: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class PlannedTopic:
    """What a replay stores again of a topic."""

    note: ReplayNote
    deleted: Mapping[int, Offset] = field(default_factory=dict)
    """Offsets before these are not in Kafka any more, by partition."""
    resumes: bool = False
    beside: Mapping[int, Mapping[int, Span]] = field(default_factory=dict)
    """Bounds of the other replays that were known when it was planned, by generation; once begun, of all before it."""

    def cuts(self) -> dict[TopicPartition, list[Offset]]:
        """Return the offsets within it at which other replays begin or end: either of both may count behind them.

        A replay that begins later has no bound within a range of this one, so these are all.
        """
        found: dict[TopicPartition, list[Offset]] = {}
        for partition, range_ in self.note.ranges().items():
            spans = (bounds.get(partition.partition, ()) for bounds in self.beside.values())
            ends = {offset for span in spans for offset in span if range_.start < offset < range_.end}
            found[partition] = sorted(ends)
        return found


class Planner:
    """Plans the replays of one generation of a group."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        generation: int,
        revision: str,
        offsets: OffsetReader,
        moments: BackupMoments | None,
        *,
        kafka: bool,
        alone: Callable[[str], bool] = lambda _topic: False,
    ) -> None:
        """Ask nothing yet.

        Args:
            moments: asks the bucket of the backup; None: Kafka alone is read.
            kafka: whether records are read from Kafka, as far back as it reaches.
            alone: says of a topic whether no other generation may be below its prefix, because readers see whole
                folders.
        """
        self._store, self._group, self._generation, self._revision = store, group, generation, revision
        self._offsets, self._moments, self._kafka, self._alone = offsets, moments, kafka, alone

    def plan(self, topic: str, backup: TopicBackup | None, wish: Wish) -> PlannedTopic:
        """Return what is stored again of a topic; a replay that was begun goes on as it was planned then.

        Raises ReplayError, KafkaError and StorageError.
        """
        described = self._offsets.describe([topic]).get(topic)
        if described is None:
            raise ReplayError(f"topic {topic}: Kafka does not describe it; the progress of a replay is kept there")
        partitions = [TopicPartition(topic, number) for number in sorted(described.leaders)]
        progress = self._progress(partitions, described.topic_id)  # before the note, which is put first
        begun = get_replay(self._store, self._group, topic, self._generation)
        if begun is not None:
            self._check_begun(begun, described.topic_id)
        if backup is not None and not same_topic(backup.topic_id, described.topic_id):
            raise ReplayError(
                f"topic {topic}: the backup is of an earlier topic of this name (id {backup.topic_id}), whose offsets "
                "were others; restore it under another name, and store that"
            )
        starts = self._offsets.log_starts(partitions)
        for partition, error in starts.errors.items():
            raise ReplayError(f"{partition}: Kafka does not say where it begins: {error}", passes=True)
        deleted = {partition.partition: offset for partition, offset in starts.values.items()}
        of_backup = {} if backup is None else backup.partitions
        beside: Mapping[int, Mapping[int, Span]] = {}
        if begun is None:
            known = get_current(self._store, self._group, topic).replays
            beside = {generation: it for generation, it in known.items() if generation != self._generation}
            self._check_anew(progress)
            spans = dict(self._spans(partitions, described.topic_id, starts.values, of_backup, wish, beside))
            begun = ReplayNote(topic, described.topic_id, self._generation, self._revision, spans, done=not spans)
            resumes = False
        else:
            resumes = True
        if not begun.done:
            self._check_holes(begun, starts.values, backup, progress)
        return PlannedTopic(begun, deleted, resumes, beside)

    def _progress(self, partitions: list[TopicPartition], topic_id: str | None) -> dict[TopicPartition, Offset]:
        """Return up to where the group of the replay has committed, of partitions of which it has stored something."""
        found = self._offsets.committed(partitions, replay_group(self._group, self._generation))
        known = {partition: one for partition, one in found.items() if isinstance(one, CommittedOffset)}
        return {partition: one.offset for partition, one in known.items() if _is_progress(one, topic_id)}

    def _check_anew(self, progress: Mapping[TopicPartition, Offset]) -> None:
        """Raise for progress without a note: by that of a replay into another place all would be stored already."""
        group = replay_group(self._group, self._generation)
        for partition, offset in sorted(progress.items()):
            raise ReplayError(
                f"{partition}: group {group} has committed {offset}, and no replay is noted here: there was one into "
                "another bucket or prefix, or its note was deleted; raise spec.generation"
            )

    def begin(self, planned: PlannedTopic) -> PlannedTopic:
        """Note what a replay stores, before its first object, and that none of its objects counts yet.

        The document comes first: of replays that are planned at once, it lets only one begin.
        """
        note = planned.note

        def begun(current: Current) -> Current:
            if current.topic_id == note.topic_id and note.generation in current.replays:
                return current  # by another process, or by this one before it was killed
            if not planned.resumes:
                self._check_beside(note, planned.beside, current)
            return current.begun(note.topic_id, note.generation, note.bounds)

        current = change_current(self._store, self._group, note.topic, begun)
        first = begin_replay(self._store, self._group, replace(note, bounds=current.replays[note.generation]))
        self._check_begun(first, note.topic_id)
        beside = {generation: it for generation, it in current.replays.items() if generation != note.generation}
        return PlannedTopic(first, planned.deleted, planned.resumes, beside)

    def _check_beside(self, note: ReplayNote, beside: Collection[int], current: Current) -> None:
        """Raise where another replay was begun since: its ranges may have the bounds of this one within."""
        for generation in sorted(current.replays.keys() - beside - {note.generation}):
            raise ReplayError(
                f"topic {note.topic}: the replay into generation {generation} was begun while this one was planned; "
                "repeat this",
                passes=True,
            )

    def _check_begun(self, note: ReplayNote, topic_id: str | None) -> None:
        if not same_topic(note.topic_id, topic_id):
            raise ReplayError(
                f"topic {note.topic}: generation {note.generation} is the replay of an earlier topic of this name; "
                "raise spec.generation"
            )
        if note.revision != self._revision:
            raise ReplayError(
                f"topic {note.topic}: generation {note.generation} was begun by another manifest (revision "
                f"{note.revision}, now {self._revision}); finish it with that one, or raise spec.generation"
            )

    def _spans(
        self,
        partitions: list[TopicPartition],
        topic_id: str | None,
        log_starts: Mapping[TopicPartition, Offset],
        backup: Mapping[TopicPartition, PartitionBackup],
        wish: Wish,
        beside: Mapping[int, Mapping[int, Span]],
    ) -> Iterator[tuple[int, Span]]:
        committed = self._committed(partitions, topic_id)
        stored = self._stored(partitions, committed, beside)
        since = self._offsets_of(wish.since, committed, log_starts, backup, ends=False)
        until = self._offsets_of(wish.until, committed, log_starts, backup, ends=True)
        for partition, offset in committed.items():
            available = self._available(log_starts[partition], backup.get(partition))
            try:
                span = bounds(stored[partition], offset, available, since.get(partition), until.get(partition))
            except OutOfReachError as error:
                raise ReplayError(f"{partition}: {error}") from None
            if span is not None:
                yield partition.partition, span

    def _available(self, log_start: Offset, backup: PartitionBackup | None) -> Offset:
        if not self._kafka:
            return log_start if backup is None else backup.start
        return log_start if backup is None else min(log_start, backup.start)

    def _committed(self, partitions: list[TopicPartition], topic_id: str | None) -> dict[TopicPartition, Offset]:
        """Return how far the group is; an older answer than the true one is where stored ranges meet, too."""
        found: dict[TopicPartition, Offset] = {}
        for partition, committed in self._offsets.committed(partitions).items():
            if isinstance(committed, UnknownMetadataError):
                raise ReplayError(f"the committed offset of {partition} cannot be read ({committed})")
            if isinstance(committed, CommittedOffset):
                metadata = committed.metadata
                if metadata is None or not same_topic(metadata.topic_id, topic_id):
                    whose = "set by a user or a tool" if metadata is None else "of an earlier topic of this name"
                    raise ReplayError(
                        f"{partition}: the committed offset {committed.offset} is {whose}, and perhaps within a stored "
                        f"range; {_RUN_A_MEMBER}"
                    )
                highest = metadata.generation
                if highest >= self._generation:
                    raise ReplayError(
                        f"spec.generation: {self._generation} must be higher than {highest}, in which the group stores "
                        f"{partition}: a replay is a generation of its own"
                    )
                found[partition] = committed.offset
        return found

    def _stored(
        self,
        partitions: list[TopicPartition],
        committed: Mapping[TopicPartition, Offset],
        replays: Mapping[int, Mapping[int, Span]],
    ) -> dict[TopicPartition, list[StoredOnce]]:
        """Return what stands in the bucket, apart for each replay and for members."""
        topic, unknown = partitions[0].topic, set(partitions) - committed.keys()
        others = set(replays)
        starts: defaultdict[tuple[TopicPartition, int | None], set[Offset]] = defaultdict(set)
        for name, _ in self._store.inventory(topic):
            of = name.generation if name.generation in replays else None
            others.add(name.generation)
            if name.generation == self._generation and of is None:
                raise ReplayError(
                    f"spec.generation: topic {topic} has objects of {self._generation}, which are of no replay; write "
                    "a higher one that has none"
                )
            if of is None and name.topic_partition in unknown:
                partition = name.topic_partition
                raise ReplayError(f"{partition}: members have stored it, and no offset is committed; {_RUN_A_MEMBER}")
            starts[name.topic_partition, of].add(name.start)
        if others and self._alone(topic):
            raise ReplayError(
                f"topic {topic}: a Hive table shows whole folders, so rows of generation {min(others)}, which is below "
                "this spec.storage.prefix, too, would stand beside those of the replay. Replay below another prefix, "
                "into another spec.table.name (docs/replay.md#hive-tables)"
            )
        for generation, bounds_of in replays.items():  # where it will store, no bound is known but its own
            for number, (start, _) in bounds_of.items():
                starts[TopicPartition(topic, number), generation].add(start)
        found: dict[TopicPartition, list[StoredOnce]] = {partition: [] for partition in committed}
        for (partition, of), offsets in starts.items():
            if partition in found:
                span = None if of is None else replays[of].get(partition.partition)
                end = committed[partition] if span is None else span[1]
                found[partition].append(StoredOnce(sorted(offsets), end))
        return found

    def _offsets_of(
        self,
        moment: int | None,
        committed: Mapping[TopicPartition, Offset],
        log_starts: Mapping[TopicPartition, Offset],
        backup: Mapping[TopicPartition, PartitionBackup],
        *,
        ends: bool,
    ) -> dict[TopicPartition, Offset]:
        if moment is None:
            return {}
        answer = self._offsets.first_since(dict.fromkeys(committed, moment))
        for partition, error in answer.errors.items():
            raise ReplayError(f"{partition}: Kafka does not say where a time lies: {error}", passes=True)
        found: dict[TopicPartition, Offset] = {}
        for partition, first in answer.values.items():
            log_start, kept = log_starts[partition], backup.get(partition)
            if first is not None and first[0] > log_start:
                found[partition] = first[0]
            elif first is None and log_start < committed[partition]:
                found[partition] = committed[partition]  # all that Kafka has is earlier
            elif kept is not None and self._moments is not None and kept.start < log_start:
                if not kept.keeps_times:
                    raise ReplayError(
                        f"{partition}: Kafka has deleted records of that time, and the format of the backup keeps no "
                        "times; leave --from and --to out, or name a time behind what Kafka has deleted"
                    )
                look = self._moments.behind if ends else self._moments.before
                found[partition] = look(kept, moment)
            else:
                found[partition] = committed[partition] if first is None else log_start
        return found

    def _check_holes(
        self,
        note: ReplayNote,
        log_starts: Mapping[TopicPartition, Offset],
        backup: TopicBackup | None,
        progress: Mapping[TopicPartition, Offset],
    ) -> None:
        of_backup = {} if backup is None else backup.partitions
        for partition, range_ in note.ranges().items():
            start = max(range_.start, progress.get(partition, 0))
            end = min(range_.end, log_starts[partition]) if self._kafka else range_.end
            if start >= end:
                continue
            wanted = Range(partition, start, end)
            if self._moments is None:
                raise ReplayError(f"Kafka has deleted {wanted}; name a backup that has it (--backup), or begin later")
            found = of_backup.get(partition)
            for piece in () if found is None else found.within(start, end)[0]:
                if piece.object.flaw is not None:
                    raise ReplayError(
                        f"{piece.range}: object {piece.object.key!r} of the backup cannot tell its records: "
                        f"{piece.object.flaw}; begin behind it, or name another backup"
                    )
            hole = BackupPart.of(found, wanted).first_hole(start, end)
            if hole is not None:
                why = "" if backup is None else backup.why(hole)
                where = "and Kafka has deleted it" if self._kafka else "of which it should be read (--source backup)"
                is_late = found is not None and hole.start >= found.end and not self._kafka
                remedy = "the backup may be late: repeat this, or end before it" if is_late else "or begin behind it"
                raise ReplayError(
                    f"a hole: no object of the backup has {hole}{why}, {where}; restore the object, {remedy}",
                    passes=is_late,
                )


def _is_progress(committed: CommittedOffset, topic_id: str | None) -> bool:
    metadata = committed.metadata
    if metadata is None:
        return committed.offset > 0
    return same_topic(metadata.topic_id, topic_id) and (committed.offset > 0 or bool(metadata.ends))
