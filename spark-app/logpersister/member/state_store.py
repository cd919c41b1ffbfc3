"""The state of the group in the bucket: revisions, losses, topics, and which ranges are stored."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.member.ports import NoteError
from logpersister.plan.intents import PLANNED_RANGES
from logpersister.plan.recovery import ReplayedEnd, StoredRange, StoredTail
from logpersister.ranges import Cause, Offset, Range, TopicPartition
from logpersister.storage import ahead, topics
from logpersister.storage.asking import ask_each
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ANY_BYTES, ForeignObjectError
from logpersister.storage.losses import Loss, record_loss
from logpersister.storage.names import ObjectName
from logpersister.storage.replayed import ReplayNote, get_replay, list_replayed
from logpersister.storage.revisions import get_revision, put_revision
from logpersister.storage.store import ObjectStore
from logpersister.storage.topics import TopicNote

READING_THREADS = 8

_Starts = dict[Offset, tuple[ObjectName, str]]
"""An object, with its key, of each range; by the start of the range."""
_Found = dict[TopicPartition, defaultdict[int, _Starts]]
_Reads = list["Future[StoredRange | None]"]


class BucketStateStore:
    """The bucket behind the port `StateStore`."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        generation: int,
        revision: str,
        open_at: Callable[[StorageSpec], ObjectStore],
        *,
        in_folders: Callable[[str], bool],
        replay: Mapping[TopicPartition, Range] | None = None,
        on_failure: Callable[[StorageError], None] = lambda _: None,
    ) -> None:
        """Keep the state of a group in a bucket.

        Args:
            open_at: gives the store of another place.
            replay: the offsets that we store, if we are a replay.
            on_failure: gets each failure of our place, which concerns no range and stops all of them. One in another
                place stops only the partitions that need that place.
        """
        self._store = store
        self._open_at = open_at
        self._group = group
        self._generation = generation
        self._revision = revision
        self._in_folders = in_folders
        self._replay = replay
        self._on_failure = on_failure

    def stored_tails(
        self, partitions: Iterable[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        """Return what is stored last of each partition, in the highest generation up to this one that has anything.

        What the objects of one partition do not tell concerns that partition only.

        Lists the folder of each topic once: an object's name has the start of its range, its metadata the end.
        """
        with self._reporting():
            return self._stored_tails(list(partitions), generation)

    def _belongs(self, name: ObjectName, replays: Sequence[ReplayNote]) -> bool:
        """Whether an object tells how far we are.

        The group goes by none of a replay, and a replay by its own alone: in its generation the group may store behind
        it.

        Args:
            replays: notes of the replays of the topic.
        """
        if self._replay is None:
            return not any(one.has(name) for one in replays)
        own = self._replay.get(name.topic_partition)
        return name.generation == self._generation and own is not None and own.start <= name.start < own.end

    def _stored_tails(
        self, partitions: Sequence[TopicPartition], generation: int
    ) -> dict[TopicPartition, StoredTail | ForeignObjectError]:
        found: _Found = {}
        replays: dict[TopicPartition, tuple[ReplayedEnd, ...]] = {}
        for topic in {partition.topic for partition in partitions}:
            of_topic = [partition for partition in partitions if partition.topic == topic]
            notes, listed = self._listed(of_topic, generation)
            found |= listed
            if self._replay is None:
                replays |= {p: tuple(one for note in notes for one in _end(note, p)) for p in of_topic}
        with ThreadPoolExecutor(READING_THREADS, thread_name_prefix="recovery") as threads:
            reads: dict[TopicPartition, tuple[int, _Reads, _Reads]] = {}
            for partition, generations in found.items():
                last, before = [*sorted(generations, reverse=True), generation, generation][:2]
                starts = sorted(generations[last])
                earlier = sorted(generations[before])[-1:] if before < last else []
                reads[partition] = (
                    last,
                    [threads.submit(self._read, *generations[last][start]) for start in starts],
                    [threads.submit(self._read, *generations[before][start]) for start in earlier],
                )
            return {p: _tail(generation, *asked, replays.get(p, ())) for p, asked in reads.items()}

    def _listed(self, partitions: Sequence[TopicPartition], generation: int) -> tuple[list[ReplayNote], _Found]:
        """Return the replays of a topic, and the last objects of partitions that are of none.

        A replay may begin meanwhile. Its note is older than its objects, so a note that is seen only afterwards shows
        that they have to be listed again.
        """
        topic = partitions[0].topic
        notes = list(list_replayed(self._store, self._group, topic))
        while True:
            found: _Found = {partition: defaultdict(dict) for partition in partitions}
            for name, listed in self._store.inventory(topic):
                if name.generation <= generation and name.topic_partition in found and self._belongs(name, notes):
                    _keep_last(found[name.topic_partition][name.generation], name, listed.key)
            before, notes = notes, list(list_replayed(self._store, self._group, topic))
            if {one.generation for one in notes} == {one.generation for one in before}:
                return notes, found

    def _read(self, name: ObjectName, key: str) -> StoredRange | None:
        facts = self._store.facts(key)
        if facts is None:
            return None
        if (facts.range.partition, facts.range.start) != (name.topic_partition, name.start):
            raise ForeignObjectError(
                f"object {key!r} says that it holds {facts.range}; somebody has copied or renamed it"
            )
        whole = not name.path and facts.parser == ANY_BYTES
        of = facts.range
        return StoredRange(of.start, of.end, facts.group, facts.revision, facts.topic_id, whole, facts.horizon)

    def ahead(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError | None]:
        """Return the start of an object of this generation at or behind each position; None: there is none.

        Of a replay in this generation it is enough that it may yet store one.
        """
        found: dict[TopicPartition, Offset | StorageError | None] = {}
        for in_folders in (False, True):
            alike = {p: position for p, position in positions.items() if self._in_folders(p.topic) == in_folders}
            if alike:
                until = {p: self._replay[p].end for p in alike if self._replay is not None and p in self._replay}
                found |= ahead.first_ahead(self._store, alike, generation, in_folders=in_folders, until=until)
        if self._replay is None:
            found |= self._replayed({p: position for p, position in positions.items() if found[p] is None}, generation)
        self._report(found.values())
        return found

    def _replayed(
        self, positions: Mapping[TopicPartition, Offset], generation: int
    ) -> dict[TopicPartition, Offset | StorageError]:
        """Return from where on a replay stores offsets behind positions in this generation, which it may yet do."""

        def note(topic: str) -> ReplayNote | StorageError | None:
            try:
                return get_replay(self._store, self._group, topic, generation)
            except StorageError as error:
                return error  # that concerns this topic only

        topics = sorted({partition.topic for partition in positions})
        notes = dict(zip(topics, ask_each(note, topics), strict=True))
        found: dict[TopicPartition, Offset | StorageError] = {}
        for partition, position in positions.items():
            noted = notes[partition.topic]
            if isinstance(noted, StorageError):
                found[partition] = noted
            elif noted is not None:
                start, end = noted.bounds.get(partition.partition, (0, 0))
                found |= {partition: max(position, start)} if position < end else {}
        return found

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        with self._reporting():
            put_revision(self._store, self._group, revision, document)

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        storage = self._store.storage
        if place == storage.place:
            with self._reporting():
                return get_revision(self._store, self._group, revision)
        with self._open_at(storage.at(place)) as there:
            return get_revision(there, self._group, revision)

    def bind_topics(self, notes: Mapping[str, TopicNote], generation: int) -> Mapping[str, TopicNote | NoteError]:
        def bind(topic: str) -> TopicNote | NoteError:
            try:
                return topics.bind_topic(self._store, self._group, topic, generation, notes[topic])
            except (ForeignObjectError, StorageError) as error:
                return error  # that concerns this topic only

        with ThreadPoolExecutor(READING_THREADS, thread_name_prefix="topics") as threads:
            found = dict(zip(notes, threads.map(bind, notes), strict=True))
        self._report(found.values())
        return found

    def first_note(self, topic: str, topic_id: str) -> TopicNote | None:
        with self._reporting():
            return topics.first_note(self._store, self._group, topic, topic_id)

    def note_selection(self, selection: Mapping[str, Any], found: Sequence[str]) -> Sequence[str]:
        with self._reporting():
            return topics.note_selection(self._store, self._group, selection, found)

    def record_loss(self, lost: Range, topic_id: str | None, cause: Cause) -> None:
        with self._reporting():
            record_loss(self._store, self._group, Loss(lost, topic_id, cause, self._generation, self._revision))

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except StorageError as error:
            self._on_failure(error)
            raise

    def _report(self, answers: Iterable[object]) -> None:
        for error in {str(answer): answer for answer in answers if isinstance(answer, StorageError)}.values():
            self._on_failure(error)


def _end(note: ReplayNote, partition: TopicPartition) -> Iterator[ReplayedEnd]:
    span = note.bounds.get(partition.partition)
    if span is not None:
        yield ReplayedEnd(note.generation, span[1], note.topic_id)


def _tail(
    own: int, generation: int, reads: _Reads, before: _Reads, replays: tuple[ReplayedEnd, ...]
) -> StoredTail | ForeignObjectError:
    """Put together what was asked. Objects of an earlier generation that are not whole are nobody's business here."""
    earlier = _results(before)
    last = None if isinstance(earlier, ForeignObjectError) or not earlier else earlier[-1]
    ranges = _results(reads)
    if isinstance(ranges, ForeignObjectError):
        return ranges if generation == own else StoredTail(own, replays=replays)
    return StoredTail(generation, ranges, last, replays)


def _results(reads: _Reads) -> tuple[StoredRange, ...] | ForeignObjectError:
    try:
        return tuple(stored for read in reads if (stored := read.result()) is not None)
    except ForeignObjectError as error:
        return error
    except StorageError as error:
        if error.kind == "damaged":  # that concerns this partition only
            return ForeignObjectError(str(error))
        raise


def _keep_last(starts: _Starts, name: ObjectName, key: str) -> None:
    starts.setdefault(name.start, (name, key))
    if len(starts) > PLANNED_RANGES:
        del starts[min(starts)]
