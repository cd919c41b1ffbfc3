"""What stands in the bucket under the names of a topic, with what each object says about itself."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final

from logpersister.storage import names
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore
from logpersister.verify.evidence import StoredObject

ASKED_AT_ONCE: Final = 16

Listed = tuple[ObjectName, ListedObject]


def with_facts(store: ObjectStore, listed: Iterable[Listed]) -> Iterator[StoredObject]:
    """Ask the bucket about each object, a few at once; those that are gone by then are left out."""
    remaining = iter(listed)
    with ThreadPoolExecutor(ASKED_AT_ONCE, thread_name_prefix="facts") as pool:
        while batch := list(islice(remaining, ASKED_AT_ONCE * 4)):
            for found in pool.map(lambda one: _ask(store, *one), batch):
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
