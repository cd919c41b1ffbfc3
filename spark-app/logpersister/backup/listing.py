"""Lists what a group has of a topic in its backup: objects, and notes about offsets that are in none."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from logpersister.backup.kept import extensions, flaw, kept_parts
from logpersister.backup.ranges import BackupObject, Explained, PartitionBackup, partition_backups
from logpersister.formats.kafka.write import EXTENSION
from logpersister.manifest.spec import Spec
from logpersister.ranges import Range, TopicPartition
from logpersister.report.human import instant
from logpersister.storage.asking import ask_each
from logpersister.storage.deletions import Deletion, list_deletions
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
    """Partitions that have objects, or notes of offsets that are in none."""
    deletions: tuple[Deletion, ...] = ()
    """What was deleted of it on purpose."""

    def why(self, hole: Range) -> str:
        """Return why nothing has the first offset of a hole, as a clause that begins with a space; empty: not known."""
        noted = (one for one in self.deletions if one.has_offset(hole.partition.partition, hole.start))
        times = [instant(one.at) for one in noted]
        return f" (deleted on purpose at {max(times)})" if times else ""


def read_backup(
    store: ObjectStore, group: str, topic: str, generation: int | None = None, *, spec: Spec | None = None
) -> TopicBackup:
    """Return what the bucket has of a topic, in one generation or in all; asks about each object.

    A topic that was deleted and made again is another one: only the objects of the last are taken, by its id.

    Args:
        spec: that of the topic in the backup, whose format may be any of `backup.kept`; None: ``kafka``.

    Raises:
        StorageError: the bucket fails.
        ForeignObjectError: an object is not what its name says, or not whole; the message names it.
    """
    wanted = frozenset([EXTENSION]) if spec is None else extensions(spec)
    listed = (
        (name, one)
        for name, one in store.inventory(topic)
        if name.extension in wanted and not name.path and generation in (None, name.generation)
    )
    known = [found for found in ask_each(lambda one: _ask(store, *one), listed) if found is not None]
    own = [(key, facts) for key, facts in known if facts.group == group]
    noted = [it for it in _explained(store, group, topic) if generation in (None, it[1].generation)]
    ids = [(facts.generation, facts.range.end, facts.topic_id) for _, facts in own]
    ids = ids or [(note.generation, note.range.end, of) for of, note in noted]
    topic_id = max(ids, key=lambda one: one[:2], default=(0, 0, None))[2]
    objects = [_object(key, facts, spec) for key, facts in own if facts.topic_id == topic_id]
    partitions = partition_backups(objects, (note for of, note in noted if of == topic_id))
    note = None if topic_id is None else first_note(store, group, topic, topic_id)
    count = 0 if note is None else note.partitions or 0
    deletions = tuple(one for one in list_deletions(store, group, topic) if one.topic_id == topic_id)
    return TopicBackup(topic_id, max([count, *(one.partition + 1 for one in partitions)]), partitions, deletions)


def _ask(store: ObjectStore, name: ObjectName, listed: ListedObject) -> tuple[str, ObjectFacts] | None:
    facts = store.facts(listed.key)
    if facts is None:
        return None
    check_name(listed.key, name, facts)
    return listed.key, facts


def _object(key: str, facts: ObjectFacts, spec: Spec | None) -> BackupObject:
    plain = BackupObject(key, facts.range, facts.generation, facts.records, facts.first, facts.last, facts.checksum)
    if spec is None:
        return plain
    return replace(plain, keeps_times="timestamp" in kept_parts(spec), flaw=flaw(spec, facts))


def _explained(store: ObjectStore, group: str, topic: str) -> Iterator[tuple[str | None, Explained]]:
    for note in list_left_out(store, group, topic):
        yield note.topic_id, Explained(note.range, note.generation, is_lost=False)
    for loss in list_losses(store, group):
        if loss.range.partition.topic == topic:
            yield loss.topic_id, Explained(loss.range, loss.generation, is_lost=True)
