"""Finds the age of the oldest unstored record, by asking Kafka for offsets by time. Pure: asking is a parameter.

ListOffsets tells the first record that is not older than a time, so the timestamp of the record at a position is
searched for: where the answer lies before the position the time was too early, where behind it too late. All
partitions are searched together, one request to each broker a round. Ages are halved by ratio, so that ten seconds and
ten days both need about as many rounds; the search ends within `PRECISION` of the age. Timestamps that go back and
forth (CreateTime) make the answer an estimate, never an error.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from logpersister.ranges import Offset, TopicPartition

Milliseconds = int
Found = tuple[Offset, Milliseconds]
Ask = Callable[[Mapping[TopicPartition, Milliseconds]], Mapping[TopicPartition, Found | None]]
"""Returns for each partition the first record at or after a time; None: there is none. Partitions may be missing."""

ROUNDS: Final = 16
PRECISION: Final = 0.02
FINEST: Final = 500
"""Milliseconds below which a closer answer tells nobody anything."""


@dataclass(slots=True)
class _Search:
    position: Offset
    early: Milliseconds
    """The oldest unstored record is not older than this."""
    late: Milliseconds
    """The oldest unstored record is older than this."""

    def next(self, now: Milliseconds) -> Milliseconds:
        oldest, youngest = max(now - self.early, 1), max(now - self.late, 1)
        guess = now - round(math.sqrt(oldest * youngest))
        return min(max(guess, self.early + 1), self.late - 1)

    def precise(self, now: Milliseconds) -> bool:
        return self.late - self.early <= max(FINEST, PRECISION * (now - self.early))


def oldest_timestamps(
    positions: Mapping[TopicPartition, Offset], now: Milliseconds, ask: Ask
) -> dict[TopicPartition, Milliseconds]:
    """Return the timestamp (ms) of the first record at or after each position.

    Partitions whose records have no timestamps, or that could not be asked, are missing from the result.
    """
    found: dict[TopicPartition, Milliseconds] = {}
    searches: dict[TopicPartition, _Search] = {}
    for partition, first in ask(dict.fromkeys(positions, 0)).items():
        if first is None:
            continue  # no record has a timestamp
        offset, timestamp = first
        if offset >= positions[partition] or timestamp >= now:
            found[partition] = timestamp
        else:
            searches[partition] = _Search(positions[partition], early=timestamp, late=now + 1)
    for _ in range(ROUNDS):
        for partition in [one for one, search in searches.items() if search.precise(now)]:
            found[partition] = searches.pop(partition).early
        if not searches:
            break
        times = {partition: search.next(now) for partition, search in searches.items()}
        answers = ask(times)
        for partition, time in times.items():
            if partition not in answers:
                del searches[partition]
            elif exact := _narrow(searches[partition], time, answers[partition]):
                found[partition] = exact
                del searches[partition]
    # Out of rounds: an age that is a little too old is the safer one.
    return found | {partition: search.early for partition, search in searches.items()}


def _narrow(search: _Search, time: Milliseconds, answer: Found | None) -> Milliseconds | None:
    """Take in what the first record at or after `time` is; return the timestamp when it is the one looked for."""
    if answer is None or answer[0] > search.position:
        search.late = time
        return None
    offset, timestamp = answer
    if offset == search.position:
        return timestamp
    search.early = min(max(time, timestamp), search.late - 1)
    return None
