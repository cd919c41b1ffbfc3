"""Spark's Python daemon, from which workers are forked, with everything imported that they need.

A worker begins at once, and shares with the others the memory that the modules take. Spark runs this module by its name
(``spark.python.daemon.module``). Nothing may be connected, and no thread started, before the fork.
"""

import gc
import sys

from logpersister.pipeline.handover import hand_over


def run() -> None:
    """Be the daemon until Spark closes its input. Without a fork server the imports are made now."""
    import pyspark.worker  # noqa: PLC0415 - see above
    from pyspark import daemon  # noqa: PLC0415

    import logpersister.pipeline.job  # noqa: PLC0415 - for the workers

    _ = pyspark.worker, logpersister.pipeline.job
    gc.freeze()  # a collection in a worker would touch, and so copy, what it shares
    daemon.manager()


if __name__ == "__main__" and not hand_over(sys.argv[1:]):
    run()
