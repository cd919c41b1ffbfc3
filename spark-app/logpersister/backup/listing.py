"""Lists what a group has of a topic in its backup: objects, and notes about offsets that are in none."""

from collections.abc import Iterator
from dataclasses import dataclass

from logpersister.backup.ranges import BackupObject, Explained, PartitionBackup, partition_backups
from logpersister.formats.kafka.write import EXTENSION
from logpersister.ranges import TopicPartition
from logpersister.storage.asking import ask_each
from logpersister.storage.facts import ObjectFacts, check_name
from logpersister.storage.left_out import list_left_out
from logpersister.storage.losses import list_losses
from logpersister.storage.names import ObjectName
from logpersister.storage.store import ListedObject, ObjectStore
from logpersister.storage.topics import first_note


@dataclass(frozen=True, slots=True)
class TopicBackup:
    """A topic as a backup has it."""

    topic_id: str | None
    partition_count: int
    """Number of partitions when the group began, or more where later ones have objects; some may be empty."""
    partitions: dict[TopicPartition, PartitionBackup]
    """Partitions that have objects."""


def read_backup(store: ObjectStore, group: str, topic: str, generation: int | None = None) -> TopicBackup:
    """Return what the bucket has of a topic, in one generation or in all; asks about each object.

    A topic that was deleted and made again is another one: only the objects of the last are taken, by its id.

    Raises:
        StorageError: the bucket fails.
        ForeignObjectError: an object is not what its name says, or not whole; the message names it.
    """
    listed = (
        (name, one)
        for name, one in store.inventory(topic)
        if name.extension == EXTENSION and not name.path and generation in (None, name.generation)
    )
    known = [found for found in ask_each(lambda one: _ask(store, *one), listed) if found is not None]
    own = [(key, facts) for key, facts in known if facts.group == group]
    newest = max(own, key=lambda one: (one[1].generation, one[1].range.end), default=None)
    topic_id = None if newest is None else newest[1].topic_id
    objects = [_object(key, facts) for key, facts in own if facts.topic_id == topic_id]
    notes = (note for note in _explained(store, group, topic, topic_id) if generation in (None, note.generation))
    partitions = partition_backups(objects, notes)
    note = None if topic_id is None else first_note(store, group, topic, topic_id)
    noted = 0 if note is None else note.partitions or 0
    return TopicBackup(topic_id, max([noted, *(one.partition + 1 for one in partitions)]), partitions)


def _ask(store: ObjectStore, name: ObjectName, listed: ListedObject) -> tuple[str, ObjectFacts] | None:
    facts = store.facts(listed.key)
    if facts is None:
        return None
    check_name(listed.key, name, facts)
    return listed.key, facts


def _object(key: str, facts: ObjectFacts) -> BackupObject:
    return BackupObject(key, facts.range, facts.generation, facts.records, facts.first, facts.last)


def _explained(store: ObjectStore, group: str, topic: str, topic_id: str | None) -> Iterator[Explained]:
    for note in list_left_out(store, group, topic):
        if note.topic_id == topic_id:
            yield Explained(note.range, note.generation, is_lost=False)
    for loss in list_losses(store, group):
        if loss.range.partition.topic == topic and loss.topic_id == topic_id:
            yield Explained(loss.range, loss.generation, is_lost=True)
