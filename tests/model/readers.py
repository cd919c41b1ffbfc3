"""What readers see who go by the document that says what counts (docs/replay.md).

Shares nothing with the product but names of documents: the two rules stand here as they stand on that page.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from logpersister.ranges import Offset, TopicPartition
from tests.model.bucket import Bucket
from tests.model.chronicle import Chronicle
from tests.model.kafka import Kafka
from tests.model.ledger import ObjectKey
from tests.model.store import document_of

Document = Mapping[str, Any]


class Readers:
    """Sees at every moment what a reader would see."""

    def __init__(self, chronicle: Chronicle, kafka: Kafka, bucket: Bucket, prefix: str) -> None:
        """Look at the outputs of a group below a prefix."""
        self._chronicle, self._kafka, self._bucket, self._prefix = chronicle, kafka, bucket, prefix

    def look(self) -> None:
        """Note a violation unless each record that was committed, and is no loss, is seen once, and no other twice."""
        documents = {topic: document_of(self._bucket, self._prefix, topic) for topic in self._kafka.topics}
        seen: dict[TopicPartition, Counter[Offset]] = {p: Counter() for p in self._kafka.partitions}
        for key, stored in self._bucket.objects.items():
            if counts(documents[key.partition.topic], key):
                seen[key.partition].update(offset for _, offset in stored.records)
        for partition, found in seen.items():
            self.judge(partition, found, self.expected(partition), "now")

    def look_at(self, topic: str, generation: int) -> None:
        """Note a violation unless readers see a replay that was switched to, where it has anything."""
        document = document_of(self._bucket, self._prefix, topic)
        for partition, (start, end) in self._kafka.ledger.bounds(generation).items():
            for key in self._bucket.objects if partition.topic == topic else ():
                is_within = key.partition == partition and start <= key.start < end
                if is_within and key.generation != generation and counts(document, key):
                    self._chronicle.violated(f"{key} counts where {generation} was switched to (readers)")

    def expected(self, partition: TopicPartition) -> set[Offset]:
        """Return the records of which the group has committed that they are stored."""
        identity = self._kafka.identity(partition)
        committed = self._kafka.ledger.committed(identity)
        return {offset for offset in self._kafka.ledger.stored[identity] if offset < committed}

    def judge(self, partition: TopicPartition, seen: Counter[Offset], expected: set[Offset], when: str) -> None:
        """Note a violation unless a reader has seen what was expected, all of it once."""
        if missing := sorted(expected - seen.keys()):
            self._chronicle.violated(f"who reads {when} misses {missing} of {partition} (readers)")
        if twice := sorted(offset for offset, count in seen.items() if count > 1):
            self._chronicle.violated(f"who reads {when} sees {twice} of {partition} more than once (readers)")


def counts(document: Document | None, key: ObjectKey) -> bool:
    """Whether an object counts, by the rules of docs/replay.md."""
    if document is None:
        return True
    for segment in document["partitions"].get(str(key.partition.partition), ()):
        if segment["start"] <= key.start < segment["end"]:
            return bool(segment["generation"] == key.generation)
    replays = document["replays"].get(str(key.generation), {})
    start, end = replays.get(str(key.partition.partition), (0, 0))
    return not start <= key.start < end
