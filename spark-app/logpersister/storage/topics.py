"""Which topic a generation is about: names come back with topics that are deleted and made again, ids never do.

Kafka forgets a group's offsets, and with them its intents, when it deletes the topic. A process that stands still in
the middle of an upload may then write a range of the old topic over one of the new, which has the same name. The note
is in the bucket before the first intent, so that nobody promises a range of another topic in the same generation.
"""

from typing import Any

from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import topic_key
from logpersister.storage.store import ObjectStore


def claim_topic(store: ObjectStore, group: str, topic: str, generation: int, topic_id: str) -> str:
    """Note that the generation is about ``topic_id`` unless it is about another; return the id.

    Raises StorageError, and ForeignObjectError for a note that somebody has changed.
    """
    key = topic_key(store.prefix, group, topic, generation)
    document = _read(store, key)
    if document is None:
        note = {"topic": topic, "topicId": topic_id, "generation": generation}
        if not store.put_json(key, note, if_absent=True).existing:
            return topic_id
        document = _read(store, key)
    if document is None or not isinstance(document.get("topicId"), str):
        raise ForeignObjectError(f"object {key!r} does not say which topic it is about; see who changed it")
    return str(document["topicId"])


def _read(store: ObjectStore, key: str) -> dict[str, Any] | None:
    try:
        return store.get_json(key)
    except StorageError as error:
        if error.kind == "damaged":
            raise ForeignObjectError(str(error)) from error
        raise
