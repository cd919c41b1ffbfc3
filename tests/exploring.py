"""Explores all that can come of a beginning, what costs least first: so the first failure is one of the simplest."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Node = TypeVar("Node")


def explore(
    beginnings: Iterable[Node], cost: Callable[[Node], Any], follow: Callable[[Node], Iterable[Node]]
) -> Iterator[Node]:
    """Yield each node after it was followed, until none is left; among those of one cost the newest comes first.

    Args:
        beginnings: the first nodes.
        cost: what a node costs; of any type that can be compared.
        follow: returns the nodes that come of one. Whoever explores a graph leaves out what has come before.
    """
    waiting: defaultdict[Any, list[Node]] = defaultdict(list)
    for node in beginnings:
        waiting[cost(node)].append(node)
    while waiting:
        least = min(waiting)
        node = waiting[least].pop()
        if not waiting[least]:
            del waiting[least]
        for following in follow(node):
            waiting[cost(following)].append(following)
        yield node
