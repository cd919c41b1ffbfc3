"""One look at the folders of a topic: which are finished now, what has come late, and what the others wait for."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

import structlog

from logpersister.finish.folders import existing_folders, has_folders
from logpersister.finish.passing import Passing
from logpersister.finish.positions import Kafka, Positions
from logpersister.finish.publishing import Published, Publisher
from logpersister.finish.watermark import Guess, last_passed
from logpersister.manifest.blocks.finish import FinishSpec
from logpersister.ranges import TopicPartition
from logpersister.records.time_folders import TimeFolder
from logpersister.records.type_folders import AnyFolders, TypeFolders
from logpersister.storage.errors import StorageError
from logpersister.storage.finished import Arrival, FinishedTo, finish_to, finished_to, note_arrival, read_arrivals
from logpersister.storage.store import ObjectStore

log = structlog.get_logger(__name__)

MOST_FOLDERS: Final = 100
"""Most folders that one look finishes; the next look follows at once and takes the rest."""
MOST_SECONDS: Final = 60.0
"""Longest look; the next one takes the rest, so that an observer sees progress."""
MOST_REASONS: Final = 3
LISTED_SECONDS: Final = 300.0
"""How long folders of types, or below other levels, are not listed again while the oldest of them waits: that is a
listing for each type or level, and there may be thousands of feeds."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A folder that was finished, or that something has come into since."""

    folder: TimeFolder
    published: Published
    guesses: Mapping[int, Guess] = field(default_factory=dict)
    """Guess per partition by which it counts as passed where no record proves it; only of a folder finished now."""


@dataclass(slots=True)
class Look:
    """Results of one look."""

    finished: list[Finished] = field(default_factory=list)
    late: list[Finished] = field(default_factory=list)
    """Folders that were finished before, of which something has come since."""
    waiting: TimeFolder | None = None
    """The oldest folder that is over and not finished; None: there is none."""
    reason: str = ""
    more: bool = False
    """Whether there is more to be done at once."""
    settled_to: int | None = None
    """No folder that ends at this instant or before it is left to be finished (milliseconds since the epoch)."""


class TopicFolders:
    """The folders by time of one topic."""

    def __init__(
        self,
        topic: str,
        layout: AnyFolders,
        spec: FinishSpec,
        kafka: Kafka,
        store: ObjectStore,
        group: str,
        *,
        generation: int,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        assume_idle: bool = False,
        registers: bool = False,
        awaits_copies: bool = False,
        archives_again: bool = False,
    ) -> None:
        """Begin without having seen anything of the topic.

        Args:
            assume_idle: take partitions for idle as soon as everything that Kafka has of them is stored.
            registers: whether folders become partitions of a Hive table when they are finished.
            awaits_copies: whether the success file waits for the archive in all stores.
            archives_again: whether it is looked again at archives that have been made.
        """
        self.topic = topic
        self.layout = layout
        self.spec = spec
        self.store = store
        self._group = group
        self._generation = generation
        self._publisher = Publisher(store, group, spec, registers, awaits_copies, archives_again)
        self.passing = Passing(topic, layout, spec, kafka, clock=clock, now=now, assume_idle=assume_idle)
        self._later: dict[str, int] = {}
        """Notes of arrivals that need no reading until a folder is finished that ends then; the name says which it is.
        There are many where one partition holds back the folders of all others for days."""
        self._taken: set[str] = set()
        """Notes of arrivals that were taken in, until they are deleted."""
        self._waiting: TimeFolder | None = None
        """Folder that the last look waited for."""
        self._left: Sequence[TimeFolder] = ()
        """Folders left by the last look, `_waiting` the first."""
        self._marked: dict[str, frozenset[int]] = {}
        """Partitions known to be stored whole, by the path of a folder that waits for others."""
        self._list_after = float("-inf")
        """Time of the clock until which such folders are not listed again while `_waiting` waits."""
        self._clock = clock

    def finished_to(self) -> FinishedTo | None:
        """Return the watermark of the topic; None: no folder is finished. Raises StorageError."""
        return finished_to(self.store, self._group, self.topic)

    def finish_to(self, end: int, positions: Positions) -> bool:
        """Note that folders are finished up to the end of one, which all partitions have passed.

        Return whether members of our generation can tell late records by this. Raises StorageError.
        """
        found = FinishedTo(end, positions.generation(self._generation))
        finish_to(self.store, self._group, self.topic, found)
        return self._is_ours(found)

    def _is_ours(self, found: FinishedTo | None) -> bool:
        return found is None or self.spec.late == "append" or found.generation >= self._generation

    def publish(self, folder: TimeFolder, positions: Positions, *, late: bool) -> Published:
        """Make known what is in a folder that is finished; `late`: that was so before."""
        if folder.is_outer:
            self._publisher.mark_finished(self.topic, folder)
            return Published(1, changed=not late)
        return self._publisher.publish(self.topic, folder, positions, late=late)

    def look(self, arrivals: Sequence[str]) -> Look:
        """Finish what can be finished, and take in what has come late.

        Args:
            arrivals: names of the notes of arrivals of this topic, listed before.

        Raises StorageError, ForeignObjectError, OvertakenError, NotKnownError, KafkaError.
        """
        before, over = self.finished_to(), self.passing.over_to()
        done = None if before is None else before.end
        ours, takes_listings = self._is_ours(before), isinstance(self.layout, TypeFolders) or self.layout.above > 0
        found_by_one = not arrivals and ours and not takes_listings
        outer = self.spec.outer_levels
        if found_by_one and not has_folders(self.store, self.topic, self.layout, after=done, until=over, outer=outer):
            return Look(settled_to=over)
        look, positions, until = Look(), self.passing.positions(), self._clock() + MOST_SECONDS
        if takes_listings and self._still_waits(positions, look):
            self._mark_done(positions, until)
            self._take_in(arrivals, positions, done, look, until)
            return look
        # Listed after that: what was stored by then has its folder, and is not late.
        self._list_after, most = until + LISTED_SECONDS, MOST_FOLDERS + 1
        folders = existing_folders(self.store, self.topic, self.layout, after=done, until=over, most=most, outer=outer)
        reasons: dict[int, str] = {}
        ends = sorted({folder.end for folder in folders})
        passed = last_passed(ends, lambda end: self._has_passed(positions, end, reasons))
        due = [folder for folder in folders if passed is not None and folder.end <= passed]
        due, look.more = _first(due, MOST_FOLDERS)
        guesses = self.passing.guesses(positions, {folder.end for folder in due})
        for folder in due:
            if look.finished and folder.end > look.finished[-1].folder.end and self._clock() > until:
                look.more = True
                break
            published = self.publish(folder, positions, late=False)
            look.finished.append(Finished(folder, published, guesses.get(folder.end, {})))
        if look.finished:
            done = look.finished[-1].folder.end
            ours = self.finish_to(done, positions)
        elif done is not None and not ours and not self.passing.waits(positions, done):
            ours = self.finish_to(done, positions)  # once more, by what our generation has stored
        left = folders[len(look.finished) :]
        if not left and len(folders) <= MOST_FOLDERS:
            look.settled_to = over if ours else None
        elif not left:
            look.more = True  # perhaps not all were listed
        elif not look.more:
            look.waiting, look.reason = left[0], reasons.get(left[0].end, "")
        self._waiting, self._left = look.waiting, [] if look.waiting is None else left
        self._mark_done(positions, until)
        self._take_in(arrivals, positions, done, look, until)
        return look

    def arrived(self, arrivals: Sequence[str], positions: Positions, done: int | None) -> Mapping[str, set[TimeFolder]]:
        """Return the finished folders that have new objects, by the names of the notes of their arrivals.

        Args:
            done: up to when folders are finished; None: none is.

        Raises StorageError.
        """
        if done is None:
            return {}
        read = read_arrivals(self.store, arrivals)
        found = {key: self._finished(arrival, done)[0] for key, arrival in read if _is_committed(arrival, positions)}
        return {key: folders for key, folders in found.items() if folders}

    def take_in(self, arrivals: Sequence[str], positions: Positions, done: int | None) -> Sequence[Finished]:
        """Publish these folders anew, and delete the notes. Arguments and errors: as of `arrived` and `publish`."""
        look = Look()
        self._take_in(arrivals, positions, done, look, float("inf"))
        return look.late

    def _still_waits(self, positions: Positions, look: Look) -> bool:
        """Whether the oldest folder that was found a moment ago waits still, so that nothing is listed anew."""
        if self._waiting is None or self._clock() >= self._list_after:
            return False
        reasons: dict[int, str] = {}
        if self._has_passed(positions, self._waiting.end, reasons):
            return False
        look.waiting, look.reason = self._waiting, reasons[self._waiting.end]
        return True

    def _has_passed(self, positions: Positions, end: int, reasons: dict[int, str]) -> bool:
        waits = self.passing.waits(positions, end)
        if waits:
            reasons[end] = in_words(waits)
        return not waits

    def _mark_done(self, positions: Positions, until: float) -> None:
        """Say of which partitions all is stored in folders that wait for others; no guess counts here.

        A record of an idle partition that comes meanwhile is not late, since the folder is not finished. So nobody
        would count it, and a reader of this partition would miss it.
        """
        if "done" not in self.spec.policy or not self._left:
            self._marked = {}
            return
        inner = [folder for folder in self._left if not folder.is_outer]
        ends = sorted({folder.end for folder in inner})

        @cache
        def not_passed(end: int) -> frozenset[int]:
            return self.passing.not_proven(positions, end)

        def last(partition: int) -> int | None:
            return last_passed(ends, lambda end: partition not in not_passed(end))

        passed = {partition: end for partition in positions.ends if (end := last(partition)) is not None}
        before, self._marked = self._marked, {}
        for folder in inner:
            known = before.get(folder.path, frozenset())
            if self._clock() <= until:
                found = frozenset(partition for partition, end in passed.items() if folder.end <= end)
                self._publisher.mark_done(self.topic, folder, sorted(found - known))
                known = found
            self._marked[folder.path] = known

    def _take_in(self, keys: Sequence[str], positions: Positions, done: int | None, look: Look, until: float) -> None:
        """Publish folders anew into which something has come since they were finished, and delete the notes of that.

        A note is left where its range is not committed yet, and where one of its folders is not finished: whoever
        finishes that sees the object, but perhaps this process is a zombie, and another one has finished it before.
        Its other folders do not wait for that one: a note of those that are left takes its place.
        """
        if done is None:
            return
        self._later = {key: self._later[key] for key in keys if self._later.get(key, done) > done}
        self._taken &= set(keys)
        ready: dict[str, Arrival] = {}
        for key, arrival in read_arrivals(
            self.store, (key for key in keys if key not in self._later and key not in self._taken)
        ):
            finished, left = self._finished(arrival, done)
            if left and not finished:
                self._later[key] = max(folder.end for folder in left)
            elif _is_committed(arrival, positions):
                ready[key] = arrival
        published = set[TimeFolder]()
        for key, arrival in ready.items():  # one as a whole: what is begun again would never end
            if published and self._clock() > until:
                look.more = True
                break
            finished, left = self._finished(arrival, done)
            for folder in sorted(finished - published):
                look.late.append(Finished(folder, self.publish(folder, positions, late=True)))
                self._mark_outer(folder, done)
            published.update(finished)
            if left:
                rest = replace(arrival, folders=tuple(sorted(folder.path for folder in left)))
                note_arrival(self.store, self._group, rest)
                self._later[rest.key(self.store.prefix, self._group)] = max(folder.end for folder in left)
            self._taken.add(key)
        self._delete_taken()

    def _delete_taken(self) -> None:
        """Delete notes of what was taken in, last: a bucket that refuses it delays nothing."""
        for key in sorted(self._taken):
            try:
                self.store.delete(key)
            except StorageError as error:
                log.warning("finish.note_not_deleted", key=key, notes=len(self._taken), error=str(error))
                return
            self._taken.remove(key)

    def _mark_outer(self, folder: TimeFolder, done: int) -> None:
        """Give the folders around a late one their file: perhaps it has made them."""
        for outer in self.layout.outer_of(folder) if self.spec.outer_levels else ():
            if outer.end <= done:
                self._publisher.mark_finished(self.topic, outer)

    def _finished(self, arrival: Arrival, done: int) -> tuple[set[TimeFolder], set[TimeFolder]]:
        folders = {one for path in arrival.folders if (one := self.layout.folder_of(path)) is not None}
        finished = {folder for folder in folders if folder.end <= done}
        return finished, folders - finished


def in_words(waits: Mapping[int, str]) -> str:
    """Return what a folder waits for, at most a few partitions of it."""
    first = [f"partition {partition} {reason}" for partition, reason in sorted(waits.items())[:MOST_REASONS]]
    more = len(waits) - len(first)
    return "; ".join(first) + (f"; and {more} more partitions" if more else "")


def _first(folders: list[TimeFolder], most: int) -> tuple[list[TimeFolder], bool]:
    """Return the first folders, and whether there are more; those that end together stay together."""
    if len(folders) <= most:
        return folders, False
    last = folders[most - 1].end
    return [folder for folder in folders if folder.end <= last], folders[-1].end > last


def _is_committed(arrival: Arrival, positions: Positions) -> bool:
    partition: TopicPartition = arrival.range.partition
    found = positions.registered.get(partition.partition)
    if found is None or found.metadata is None:
        return False
    if arrival.generation != found.metadata.generation:
        return arrival.generation < found.metadata.generation
    return arrival.range.end <= found.offset
