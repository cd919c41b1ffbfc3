"""Log lines of what happens to many partitions at once."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from logpersister.ranges import TopicPartition

MOST_LINES: Final = 20

Level = Literal["info", "warning"]


def log_each(log: Any, event: str, facts: Sequence[Mapping[str, object]], level: Level = "info") -> None:
    """Log (to a structlog logger) a line of this level for each fact, but of a crowd only the first ones.

    The rest is logged at level debug and summed up as ``<event>.more``: how many lines, and the sums of their whole
    numbers except for offsets and partitions, which cannot be added. A member of thousands of slow partitions would
    otherwise fill its log with what its metrics count anyway.
    """
    for one in facts[:MOST_LINES]:
        getattr(log, level)(event, **one)
    rest = facts[MOST_LINES:]
    for one in rest:
        log.debug(event, **one)
    if rest:
        getattr(log, level)(f"{event}.more", lines=len(rest), **_sums(rest))


_NOT_ADDABLE: Final = frozenset({"partition", "start", "end", "position", "first_offset"})


def _sums(facts: Sequence[Mapping[str, object]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for one in facts:
        for name, value in one.items():
            if isinstance(value, int) and name not in _NOT_ADDABLE:
                sums[name] = sums.get(name, 0) + value
    return sums


MOST_TOPICS: Final = 20


def partitions_text(partitions: Collection[TopicPartition]) -> str:
    """Return partitions as one reads them: ``clicks 0-5,7; orders 0``, of very many topics the first ones."""
    by_topic: defaultdict[str, list[int]] = defaultdict(list)
    for partition in sorted(partitions):
        by_topic[partition.topic].append(partition.partition)
    named = [f"{topic} {','.join(_runs(numbers))}" for topic, numbers in list(by_topic.items())[:MOST_TOPICS]]
    if len(by_topic) > MOST_TOPICS:
        named.append(f"{len(by_topic) - MOST_TOPICS} more topics")
    return "; ".join(named)


def _runs(numbers: Sequence[int]) -> Iterator[str]:
    first = last = numbers[0]
    for number in [*numbers[1:], None]:
        if number is not None and number == last + 1:
            last = number
            continue
        yield str(first) if first == last else f"{first}-{last}"
        if number is not None:
            first = last = number
