"""What was deleted of one partition on purpose. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from logpersister.plan.intents import same_topic
from logpersister.ranges import Span, union
from logpersister.storage.names import ObjectName
from logpersister.verify.evidence import PartitionEvidence


@dataclass(frozen=True, slots=True)
class Deleted:
    """Spans of offsets by generation, each with the time at which it was noted."""

    by_generation: Mapping[int, list[tuple[Span, datetime]]]

    @classmethod
    def of(cls, evidence: PartitionEvidence) -> Self:
        """Return what the notes say of a partition; those of an earlier topic of its name say nothing."""
        found: defaultdict[int, list[tuple[Span, datetime]]] = defaultdict(list)
        for note in evidence.deletions:
            if same_topic(note.topic_id, evidence.topic_id):
                for generation, partitions in note.ranges.items():
                    found[generation] += [(span, note.at) for span in partitions.get(evidence.partition.partition, ())]
        return cls(found)

    def has(self, name: ObjectName) -> bool:
        """Whether an object is of a deleted range, by its name."""
        return any(start <= name.start < end for start, end in self.in_generation(name.generation))

    def in_generation(self, generation: int) -> list[Span]:
        return [span for span, _ in self.by_generation.get(generation, ())]

    def since_generation(self, generation: int) -> list[Span]:
        """Return what was deleted in a generation, or in one above it that may have replaced it."""
        return union(
            span for number in self.by_generation if number >= generation for span in self.in_generation(number)
        )

    def named(self) -> Iterator[tuple[int, Span, datetime]]:
        """Yield generation, span and time of each deletion."""
        for generation, spans in sorted(self.by_generation.items()):
            for span, at in sorted(spans):
                yield generation, span, at
