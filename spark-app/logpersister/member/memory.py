"""What the group remembers in the bucket: revisions, losses, and which ranges are stored."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from logpersister.manifest.storage import StorageSpec
from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, Range, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ANY_BYTES, ForeignObjectError
from logpersister.storage.losses import Cause, Loss, record_loss
from logpersister.storage.names import ObjectName
from logpersister.storage.revisions import get_revision, put_revision
from logpersister.storage.store import ObjectStore
from logpersister.storage.topics import claim_topic

LOOKING_THREADS = 8


class BucketMemory:
    """The bucket behind the port `Memory`."""

    def __init__(
        self,
        store: ObjectStore,
        group: str,
        generation: int,
        revision: str,
        open_at: Callable[[StorageSpec], ObjectStore],
    ) -> None:
        """Remember in a bucket.

        Args:
            store: the bucket.
            group: whose memory it is.
            generation: of what is lost from now on.
            revision: the same.
            open_at: gives the store of another place.
        """
        self._store = store
        self._open_at = open_at
        self._group = group
        self._generation = generation
        self._revision = revision

    def tails(
        self, partitions: Iterable[TopicPartition], generation: int, most: int
    ) -> dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError]:
        """Return the last ``most`` stored ranges of each partition in this generation, by rising start.

        What the objects of one partition do not tell concerns that partition only.

        Lists the folder of each topic once: an object's name has the start of its range, its metadata the end.
        """
        wanted = set(partitions)
        found: dict[TopicPartition, dict[Offset, tuple[ObjectName, str]]] = {partition: {} for partition in wanted}
        for topic in {partition.topic for partition in wanted}:
            for name, listed in self._store.inventory(topic):
                if name.generation == generation and name.topic_partition in wanted:
                    _keep_last(found[name.topic_partition], name, listed.key, most)
        with ThreadPoolExecutor(LOOKING_THREADS, thread_name_prefix="recovery") as threads:
            looks = {
                partition: [threads.submit(self._look, *starts[start]) for start in sorted(starts)]
                for partition, starts in found.items()
            }
            return {partition: _results(ranges) for partition, ranges in looks.items()}

    def _look(self, name: ObjectName, key: str) -> StoredRange | None:
        facts = self._store.facts(key)
        if facts is None:
            return None
        if (facts.range.partition, facts.range.start) != (name.topic_partition, name.start):
            raise ForeignObjectError(
                f"object {key!r} says that it holds {facts.range}; somebody has copied or renamed it"
            )
        whole = not name.path and facts.parser == ANY_BYTES
        return StoredRange(facts.range.start, facts.range.end, facts.group, facts.revision, facts.topic_id, whole)

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        """Store a revision's snapshot; nothing happens when it is there."""
        put_revision(self._store, self._group, revision, document)

    def revision(self, revision: str, place: str) -> Mapping[str, Any] | None:
        """Return the snapshot of a revision that stores in a place; None when it is not there."""
        storage = self._store.storage
        if place == storage.place:
            return get_revision(self._store, self._group, revision)
        with self._open_at(storage.at(place)) as there:
            return get_revision(there, self._group, revision)

    def claim_topics(self, ids: Mapping[str, str], generation: int) -> Mapping[str, str | ForeignObjectError]:
        """Note for each topic (name to id) what the generation is about; return the ids that were noted first."""

        def claim(topic: str) -> str | ForeignObjectError:
            try:
                return claim_topic(self._store, self._group, topic, generation, ids[topic])
            except ForeignObjectError as error:
                return error  # that concerns this topic only

        with ThreadPoolExecutor(LOOKING_THREADS, thread_name_prefix="topics") as threads:
            return dict(zip(ids, threads.map(claim, ids), strict=True))

    def record_loss(
        self, partition: TopicPartition, topic_id: str | None, start: Offset, end: Offset, cause: Cause
    ) -> None:
        """Record durably that ``[start, end)`` will not be stored, and why. Repeating it changes nothing."""
        loss = Loss(Range(partition, start, end), topic_id, cause, self._generation, self._revision)
        record_loss(self._store, self._group, loss)


def _results(looks: Iterable["Future[StoredRange | None]"]) -> Sequence[StoredRange] | ForeignObjectError:
    try:
        return [stored for look in looks if (stored := look.result()) is not None]
    except ForeignObjectError as error:
        return error
    except StorageError as error:
        if error.kind == "damaged":  # that concerns this partition only
            return ForeignObjectError(str(error))
        raise


def _keep_last(starts: dict[Offset, tuple[ObjectName, str]], name: ObjectName, key: str, most: int) -> None:
    starts.setdefault(name.start, (name, key))
    if len(starts) > most:
        del starts[min(starts)]
