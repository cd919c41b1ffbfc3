"""Asks about many objects, a few at once."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Final, TypeVar

ASKED_AT_ONCE: Final = 16

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")


def ask_each(ask: Callable[[Asked], Answer], about: Iterable[Asked]) -> Iterator[Answer]:
    """Yield the answers in order. Of a long listing, only a few lines are taken ahead."""
    remaining = iter(about)
    with ThreadPoolExecutor(ASKED_AT_ONCE, thread_name_prefix="facts") as pool:
        while batch := list(islice(remaining, ASKED_AT_ONCE * 4)):
            yield from pool.map(ask, batch)
