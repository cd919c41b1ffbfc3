"""The bucket: objects of records, snapshots of revisions, losses."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from logpersister.plan.recovery import StoredRange
from logpersister.ranges import Offset, TopicPartition
from logpersister.storage.errors import StorageError
from logpersister.storage.facts import ForeignObjectError
from tests.model.chronicle import Chronicle
from tests.model.ledger import Identity, Ledger, ObjectKey, StoredObject
from tests.model.rules import Rules

GROUP = "backup"


class Bucket:
    """What S3 holds. A put is atomic, and may fail before or after its effect."""

    def __init__(self, chronicle: Chronicle, ledger: Ledger, rules: Rules, source: random.Random) -> None:
        self._chronicle = chronicle
        self._ledger = ledger
        self._rules = rules
        self._random = source
        self.objects: dict[ObjectKey, StoredObject] = {}
        self.revisions: dict[str, Mapping[str, Any]] = {}
        self.failing = 0.0
        """How likely a request fails."""

    def fails(self) -> bool:
        return self.failing > 0 and self._random.random() < self.failing

    def maybe_fail(self, doing: str) -> None:
        if self.fails():
            raise StorageError("unreachable", f"the bucket does not answer while {doing}")

    def put(self, who: str, key: ObjectKey, now: StoredObject, *, if_absent: bool) -> None:
        """Store an object; raises before or after it is stored."""
        self.maybe_fail("putting")
        before = self.objects.get(key)
        if before is not None and if_absent and self._rules.puts_if_absent:
            self._chronicle.tell(who, "leaves {} as it is", key)
            return
        offsets = sorted(offset for _, offset in now.records)
        self._chronicle.tell(who, "puts {}/{}_{} {} {}", key.path, key.generation, key.start, key.partition, offsets)
        self._ledger.put(key, before, now)
        self.objects[key] = now
        self.maybe_fail("answering that it was put")


class BucketMemory:
    """The bucket behind the port `Memory`, as `member.memory.BucketMemory` shows it."""

    def __init__(self, who: str, bucket: Bucket, ledger: Ledger, chronicle: Chronicle, rules: Rules) -> None:
        self._who = who
        self._bucket = bucket
        self._ledger = ledger
        self._chronicle = chronicle
        self._rules = rules

    def tails(
        self, partitions: Iterable[TopicPartition], generation: int, most: int
    ) -> dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError]:
        self._bucket.maybe_fail("listing")
        tails: dict[TopicPartition, Sequence[StoredRange] | ForeignObjectError] = {}
        for partition in partitions:
            found = {
                key.start: StoredRange(key.start, it.end, GROUP, it.revision, it.topic_id, whole=not key.path)
                for key, it in self._bucket.objects.items()
                if key.partition == partition and key.generation == generation
            }
            tails[partition] = [found[start] for start in sorted(found)][-most:]
        return tails

    def put_revision(self, revision: str, document: Mapping[str, Any]) -> None:
        self._bucket.maybe_fail("storing a revision")
        self._bucket.revisions[revision] = document

    def revision(self, revision: str) -> Mapping[str, Any] | None:
        self._bucket.maybe_fail("reading a revision")
        return self._bucket.revisions.get(revision)

    def record_loss(
        self, partition: TopicPartition, topic_id: str | None, start: Offset, end: Offset, cause: str
    ) -> None:
        self._bucket.maybe_fail("recording a loss")
        assert topic_id is not None
        if self._rules.losses_are_recorded:
            self._chronicle.tell(self._who, "records [{}, {}) of {} as {}", start, end, partition, cause)
            self._ledger.loss(Identity(partition, topic_id), start, end, cause)
