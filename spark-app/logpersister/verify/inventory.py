"""What stands in the bucket under the names of a topic, with what each object says about itself."""

from collections.abc import Callable, Iterable, Iterator

from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import TopicPartition
from logpersister.storage import names
from logpersister.storage.asking import ask_each
from logpersister.storage.facts import ForeignObjectError
from logpersister.storage.names import ObjectName
from logpersister.storage.replayed import ReplayNote
from logpersister.storage.store import ListedObject, ObjectStore
from logpersister.verify.evidence import StoredObject
from logpersister.verify.verification import Commits

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


CommitsOf = Callable[[int, Iterable[TopicPartition]], Commits]
"""Returns what the group of the replay that a generation is has committed of partitions."""


def judged(
    notes: Iterable[ReplayNote], commits_of: CommitsOf, stored: Callable[[], Iterable[StoredObject]]
) -> Iterator[StoredObject]:
    """Yield the objects of a topic without those that a replay may yet write again.

    Args:
        stored: lists its objects. It is called when it is known how far replays are, so those are whole up to there.
    """
    settled: dict[tuple[int, TopicPartition], tuple[ReplayNote, int]] = {}
    for note in notes:
        if not note.done:
            found = commits_of(note.generation, note.ranges())
            for partition in note.ranges():
                committed = found.get(partition)
                offset = committed.offset if isinstance(committed, CommittedOffset) else 0
                settled[note.generation, partition] = note, offset
    for one in stored():
        of_replay = settled.get((one.name.generation, one.name.topic_partition))
        if of_replay is None or one.name.start < of_replay[1] or not of_replay[0].has(one.name):
            yield one
