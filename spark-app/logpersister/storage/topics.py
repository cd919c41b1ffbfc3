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
from typing import Any

from logpersister.ranges import Offset
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import selection_key, topic_key, topic_notes_prefix
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


def bind_topic(store: ObjectStore, group: str, topic: str, generation: int, note: TopicNote) -> TopicNote:
    """Note what the generation is about unless that is noted already; return what was noted first.

    Raises StorageError, and ForeignObjectError for a note that somebody has changed.
    """
    key = topic_key(store.prefix, group, topic, generation)
    written: dict[str, Any] = {"topic": topic, "topicId": note.topic_id, "generation": generation}
    if note.partitions is not None:
        written["partitions"] = note.partitions
    if note.begins is not None:
        written["begins"] = list(note.begins)
    if note.since is not None:
        written["since"] = note.since
    return _parsed(key, _noted_first(store, key, written))


def first_note(store: ObjectStore, group: str, topic: str, topic_id: str) -> TopicNote | None:
    """Return the note of the first generation that was about the topic of this id; None when there is none.

    Raises StorageError, and ForeignObjectError for a note that somebody has changed.
    """
    prefix = topic_notes_prefix(store.prefix, group, topic)
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
    key = selection_key(store.prefix, group, digest)
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
    if document is None or not isinstance(document.get("topicId"), str):
        raise ForeignObjectError(f"object {key!r} does not say which topic it is about; see who changed it")
    partitions, begins, since = (document.get(name) for name in ("partitions", "begins", "since"))

    def offset(begin: Any) -> Offset | None:
        return None if begin is None and since is not None else int(begin)

    try:
        return TopicNote(
            str(document["topicId"]),
            None if partitions is None else int(partitions),
            None if begins is None else tuple(map(offset, begins)),
            None if since is None else int(since),
        )
    except (TypeError, ValueError) as error:
        raise ForeignObjectError(f"object {key!r} is damaged ({error}); see who changed it") from error


def _read(store: ObjectStore, key: str) -> dict[str, Any] | None:
    try:
        return store.get_json(key)
    except StorageError as error:
        if error.kind == "damaged":
            raise ForeignObjectError(str(error)) from error
        raise
