"""What stands in the bucket under the names of a topic, with what each object says about itself."""

from collections.abc import Iterable, Iterator

from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore
from logpersister.verify.evidence import StoredObject

Listed = tuple[ObjectName, ListedObject]


def with_facts(store: ObjectStore, listed: Iterable[Listed]) -> Iterator[StoredObject]:
    """Ask the bucket about each object, a few at once; those that are gone by then are left out."""
    for found in ask_each(lambda one: _ask(store, *one), listed):
        if found is not None:
            yield found


def _ask(store: ObjectStore, name: ObjectName, listed: ListedObject) -> StoredObject | None:
    try:
        facts = store.facts(listed.key)
    except ForeignObjectError as error:
        metadata = store.metadata(listed.key) or {}
        end = metadata.get("end", "")
        return StoredObject(
            listed.key,
            name,
            listed.size,
            facts=None,
            group=metadata.get("group"),
            fault=str(error),
            promised_end=int(end) if end.isascii() and end.isdecimal() else None,
        )
    return None if facts is None else StoredObject(listed.key, name, listed.size, facts, facts.group)


def stored_topics(store: ObjectStore) -> Iterator[str]:
    """Yield the topics that have something in the bucket, jumping from folder to folder."""
    folder = names.head(store.prefix)
    position = ""
    while (listed := next(store.list_objects(start_after=position), None)) is not None:
        segment, slash, _ = listed.key[len(folder) :].partition("/")
        topic = names.unescape_topic(segment) if slash else None
        if topic is not None:
            yield topic
        # "0" follows "/" in the order of names.
        position = f"{folder}{segment}0" if slash else listed.key
