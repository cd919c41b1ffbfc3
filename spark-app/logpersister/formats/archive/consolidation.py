"""One archive of several: which files are in it, and what its manifest says. Pure.

Two passes over the sources keep memory to the names: the first gives their entries to `Consolidation`, the second
writes the files that it has chosen.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from logpersister.formats.archive.entries import KEY_BYTES, Entry, hash_text, renamed, time_text
from logpersister.formats.damage import ContentError
from logpersister.records.key_folders import key_name

MANIFEST: Final = ".manifest.json"
"""Name of the first file of such an archive."""

Place = tuple[int, int]
"""Place of a record: its source, and its offset."""
Files = Mapping[Place, Sequence[tuple[str, int]]]
"""Names and times of files, by the places of the records that have their contents."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """An entry without its content; in the order of time."""

    timestamp: int
    place: Place
    key: bytes | None
    content: str
    name: str
    origin: Place
    """Place of the file that has its content."""


@dataclass(slots=True)
class _Replica:
    records: int = 0
    first: int = -1
    last: int = -1

    def add(self, timestamp: int) -> None:
        self.first = timestamp if self.records == 0 else min(self.first, timestamp)
        self.last = max(self.last, timestamp)
        self.records += 1


@dataclass(slots=True)
class Consolidation:
    """Chooses the files of one archive.

    Of records of one key that follow each other *in time* with equal contents the first one is a file, whichever
    replica has seen it, and in whichever order they came to Kafka.
    """

    _seen: list[_Seen] = field(default_factory=list)
    _replicas: defaultdict[str, _Replica] = field(default_factory=lambda: defaultdict(_Replica))
    _last: dict[bytes | None, tuple[Place, str, int, int]] = field(default_factory=dict)
    """Place, name, time and place of that in the name, of the last file of the present source, by key."""
    _missed: list[Mapping[str, Any]] = field(default_factory=list)
    _sources: int = 0

    def add_source(self, entries: Iterator[Entry]) -> None:
        """Take in the entries of the next source. Raises `ContentError`."""
        self._last.clear()
        for one in entries:
            place, name = (self._sources, one.offset), one.name
            if one.is_repeat:
                found = self._last.get(one.key)
                if found is None:
                    raise ContentError(f"it leaves out offset {one.offset}, and no file before has its key")
                origin, of_origin, time, time_at = found
                name = renamed(of_origin, time_at, time, one.timestamp)
            else:
                origin = place
                self._last[one.key] = place, name, one.timestamp, one.time_at
            self._seen.append(_Seen(one.timestamp, place, one.key, one.content, name, origin))
            self._replicas[one.replica].add(one.timestamp)
            if one.missed:
                self._missed.append(_missed(one))
        self._sources += 1

    def files(self) -> Files:
        """Return the files to write."""
        chosen: defaultdict[Place, list[tuple[str, int]]] = defaultdict(list)
        last: dict[bytes | None, str] = {}
        named = set[str]()
        for one in sorted(self._seen, key=lambda seen: (seen.timestamp, seen.place)):
            if last.get(one.key) != one.content and one.name not in named:
                named.add(one.name)
                chosen[one.origin].append((one.name, one.timestamp))
            last[one.key] = one.content
        return chosen

    def replicas(self) -> dict[str, Any]:
        """Return what the manifest says of replicas, by their names."""
        return {
            name: {"records": one.records, "first": time_text(one.first), "last": time_text(one.last)}
            for name, one in sorted(self._replicas.items())
        }

    def missed_polls(self, kept: Sequence[Mapping[str, Any]] = ()) -> Sequence[Mapping[str, Any]]:
        """Return what the manifest says of polls without an answer, beside what it keeps of the version before."""
        found = {tuple(one.items()): one for one in (*kept, *self._missed)}
        return [found[key] for key in sorted(found)]


def _missed(entry: Entry) -> Mapping[str, Any]:
    return {
        "feed": key_name(entry.key, KEY_BYTES),
        "replica": entry.replica,
        "since": time_text(entry.missed_since),
        "until": time_text(entry.timestamp),
        "polls": entry.missed,
    }


def hash_of(names: Sequence[str]) -> str:
    """Return the hash of an archive, which depends on the names of its files alone: these have hashes of contents."""
    return hash_text(hashlib.sha256("".join(sorted(names)).encode()).digest())
