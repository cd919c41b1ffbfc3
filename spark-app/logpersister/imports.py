"""Imports without garbage collection, for a fast start of programs."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage in this block, whose imports make little, and later never in what there is at its end.

    Python would look hundreds of times, an eighth of what it takes to import a member. For the beginning of a process.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
