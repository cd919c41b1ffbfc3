"""Arithmetic of half-open spans of offsets. Pure."""

from collections.abc import Iterable

from logpersister.ranges import Offset

Span = tuple[Offset, Offset]
"""``[start, end)``, never empty."""


def union(spans: Iterable[Span]) -> list[Span]:
    """Return what the spans cover together: sorted, apart from each other."""
    covered: list[Span] = []
    for start, end in sorted(spans):
        if covered and start <= covered[-1][1]:
            covered[-1] = (covered[-1][0], max(covered[-1][1], end))
        else:
            covered.append((start, end))
    return covered


def minus(spans: Iterable[Span], taken: Iterable[Span]) -> list[Span]:
    """Return what is left of the spans where ``taken`` does not cover them."""
    left: list[Span] = []
    covers = union(taken)
    index = 0
    for start, end in union(spans):
        position = start
        while index < len(covers) and covers[index][1] <= position:
            index += 1
        at = index
        while at < len(covers) and covers[at][0] < end:
            if covers[at][0] > position:
                left.append((position, covers[at][0]))
            position = max(position, covers[at][1])
            at += 1
        if position < end:
            left.append((position, end))
    return left


def common(one: Iterable[Span], other: Iterable[Span]) -> list[Span]:
    """Return what both cover."""
    first = union(one)
    return minus(first, minus(first, other))
