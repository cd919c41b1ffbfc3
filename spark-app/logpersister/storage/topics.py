"""Notes of a generation's topics: id, number of partitions then, and where they began.

Names come back with topics that are deleted and made again, ids never do. Kafka forgets a group's offsets, and with
them its intents, when it deletes the topic. A process that stands still in the middle of an upload may then write a
range of the old topic over one of the new, which has the same name. The note is in the bucket before the first intent,
so that nobody promises a range of another topic in the same generation.

A partition that is added later has no part in ``begins``: nothing of it was there when the group began. A partition
that could not be asked then has None there, and begins at its first record of a time that is noted, too.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from logpersister.ranges import Offset
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import TOPICS, notes_prefix, own_prefix, topic_key
from logpersister.storage.notes import Notes, written
from logpersister.storage.store import ObjectStore


@dataclass(frozen=True, slots=True)
class TopicNote:
    """Topic of a generation behind its name."""

    topic_id: str
    partitions: int | None = None
    """Number of partitions then; None in notes of older releases."""
    begins: tuple[Offset | None, ...] | None = None
    """Begin of each of the first partitions; None where that was not decided by time or ``latest``."""
    since: int | None = None
    """Milliseconds since the epoch: where partitions begin that could not be asked."""


_NOTES: Final = Notes(TopicNote, "the note of a topic")


def bind_topic(store: ObjectStore, group: str, topic: str, generation: int, note: TopicNote) -> TopicNote:
    """Note what the generation is about unless that is noted already; return what was noted first.

    Raises StorageError, and ForeignObjectError for a note that somebody has changed.
    """
    key = topic_key(store.prefix, group, topic, generation)
    document = {"topic": topic, "generation": generation, **written(note)}
    return _parsed(key, _noted_first(store, key, document))


def first_note(store: ObjectStore, group: str, topic: str, topic_id: str) -> TopicNote | None:
    """Return the note of the first generation that was about the topic of this id; None when there is none.

    Raises StorageError, and ForeignObjectError for a note that somebody has changed.
    """
    prefix = notes_prefix(store.prefix, group, TOPICS, topic)
    names = (
        (listed.key, listed.key.removeprefix(prefix).removesuffix(".json")) for listed in store.list_objects(prefix)
    )
    for _, key in sorted((int(name), key) for key, name in names if name.isdecimal()):
        document = _read(store, key)
        if document is not None and (note := _parsed(key, document)).topic_id == topic_id:
            return note
    return None


def note_selection(
    store: ObjectStore, group: str, selection: Mapping[str, Any], topics: Sequence[str]
) -> Sequence[str]:
    """Note the topics that exist when the group begins to select topics in this way; return those of the first note.

    A topic that is selected and not among them is newer: nothing of it was there when the group began.
    Raises StorageError, and ForeignObjectError for a note that somebody has changed.
    """
    digest = hashlib.sha256(json.dumps(selection, sort_keys=True).encode()).hexdigest()[:12]
    key = f"{own_prefix(store.prefix, group)}selections/{digest}.json"
    document = _noted_first(store, key, {"selection": selection, "topics": sorted(topics)})
    noted = document.get("topics") if document is not None else None
    if not isinstance(noted, list):
        raise ForeignObjectError(f"object {key!r} does not say which topics there were; see who changed it")
    return [str(topic) for topic in noted]


def _noted_first(store: ObjectStore, key: str, document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Note a document unless there is one already; return the one that was first, None when it has gone meanwhile."""
    found = _read(store, key)
    if found is not None:
        return found
    return _read(store, key) if store.put_json(key, document, if_absent=True).existing else document


def _parsed(key: str, document: Mapping[str, Any] | None) -> TopicNote:
    try:
        note = _NOTES.parsed(key, document)
    except StorageError as error:
        raise ForeignObjectError(str(error)) from None
    if note.since is None and None in (note.begins or ()):
        raise ForeignObjectError(f"object {key!r} does not say since when partitions begin; see who changed it")
    return note


def _read(store: ObjectStore, key: str) -> dict[str, Any] | None:
    try:
        return store.get_json(key)
    except StorageError as error:
        if error.kind == "damaged":
            raise ForeignObjectError(str(error)) from error
        raise
