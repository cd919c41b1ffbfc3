"""Spark's Python daemon, from which workers are forked, with everything imported that they need.

A worker begins at once, and shares with the others the memory that the modules take. Spark runs this module by its name
(``spark.python.daemon.module``). Nothing may be connected, and no thread started, before the fork.
"""

import ctypes
import gc
import sys
from typing import Final

from logpersister.imports import uncollected
from logpersister.pipeline.handover import hand_over

_GARBAGE: Final = (20_000, 20, 20)
"""Thresholds of the search for reference cycles: seldom, since it took a twentieth of the time."""
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 128 << 20
_LARGEST_KEPT: Final = 32 << 20
"""The most that glibc takes."""


def run() -> None:
    """Be the daemon until Spark closes its input. Without a fork server the imports are made now."""
    with uncollected():  # a collection in a worker would touch, and so copy, what it shares
        import pyspark.worker  # noqa: PLC0415 - see above
        from pyspark import daemon  # noqa: PLC0415

        import logpersister.pipeline.job  # noqa: PLC0415 - for the workers

    _ = pyspark.worker, logpersister.pipeline.job
    gc.set_threshold(*_GARBAGE)
    _keep_memory()
    daemon.manager()


def _keep_memory() -> None:
    """Let workers keep some MB that they have freed: they need them again at once, and new pages are dear.

    Only with glibc; other C libraries have their own ways.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_KEPT)
        libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


if __name__ == "__main__" and not hand_over(sys.argv[1:]):
    run()
