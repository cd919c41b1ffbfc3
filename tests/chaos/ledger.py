"""What the producers know of their own records: a second opinion on what Kafka's consumer reads."""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.chaos.check import Digest, Seen, TopicPartition, digest

Written = tuple[TopicPartition, int, bytes | None]
"""Where a record stands, and its value."""


class Ledger:
    """Records that the broker has acknowledged. Thread-safe."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        """acknowledged, failed, bytes; transactions: committed, aborted, abandoned, unknown."""
        self._lock = threading.Lock()
        self._durable: dict[TopicPartition, dict[int, Digest | None]] = {}
        self._aborted: dict[TopicPartition, dict[int, Digest | None]] = {}

    def acknowledged(self, written: Iterable[Written]) -> None:
        """Note records that consumers must see."""
        with self._lock:
            self.counts["acknowledged"] += self._note(self._durable, written)

    def aborted(self, written: Iterable[Written]) -> None:
        """Note records that no consumer with ``read_committed`` may see."""
        with self._lock:
            self.counts["aborted records"] += self._note(self._aborted, written)

    def count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self.counts[what] += number

    def aborted_values(self) -> frozenset[Digest]:
        with self._lock:
            return frozenset(value for offsets in self._aborted.values() for value in offsets.values() if value)

    def contradictions(self, kafka: Mapping[TopicPartition, Sequence[Seen]]) -> Iterator[str]:
        """Yield where Kafka's consumer and the producers do not agree: then neither is a judge of anybody."""
        for of, offsets in self._durable.items():
            seen = {record.offset: record.value for record in kafka.get(of, ())}
            lost = sorted(offset for offset, value in offsets.items() if seen.get(offset, b"") != value)
            if lost:
                yield f"{of[0]}-{of[1]}: {len(lost)} acknowledged records are not read back, such as offset {lost[0]}"
        for of, offsets in self._aborted.items():
            seen = {record.offset: record.value for record in kafka.get(of, ())}
            shown = sorted(offset for offset, value in offsets.items() if offset in seen and seen[offset] == value)
            if shown:
                yield f"{of[0]}-{of[1]}: {len(shown)} aborted records are read back, such as offset {shown[0]}"

    def _note(self, book: dict[TopicPartition, dict[int, Digest | None]], written: Iterable[Written]) -> int:
        number = 0
        for of, offset, value in written:
            book.setdefault(of, {})[offset] = digest(value) if value is not None else None
            self.counts["bytes"] += len(value or b"")
            number += 1
        return number
