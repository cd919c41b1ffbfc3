"""Two lanes of tests on one cluster: what a test does to the operator or to the node, it does while it is alone.

A lane is a process of pytest with servers of its own. Tests of resources of their own run side by side.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from tests.cluster.node.place import DIRECTORY


@contextmanager
def lane(*, alone: bool) -> Iterator[None]:
    """Enter when no other lane is alone in the cluster; ``alone``: when no other one is in it at all."""
    with _lock("door") as door, _lock("room") as room:
        fcntl.flock(door, fcntl.LOCK_EX)  # who waits to be alone is not overtaken
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield


def _lock(name: str) -> IO[str]:
    DIRECTORY.mkdir(parents=True, exist_ok=True)
    return (DIRECTORY / f"{name}.lock").open("w")
