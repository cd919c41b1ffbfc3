"""Objects of replays that are not finished: what their own group has not committed is not judged yet."""

from collections.abc import Callable, Iterable, Iterator

from logpersister.plan.intents import CommittedOffset
from logpersister.ranges import TopicPartition
from logpersister.storage.replayed import ReplayNote
from logpersister.verify.evidence import StoredObject
from logpersister.verify.verification import Commits

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
