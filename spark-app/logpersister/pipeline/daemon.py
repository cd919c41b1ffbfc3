"""Spark's Python daemon, from which workers are forked, with everything imported that they need.

A worker begins at once, and shares with the others the memory that the modules take. Spark runs this module by its name
(``spark.python.daemon.module``). Nothing may be connected, and no thread started, before the fork.
"""

import gc

import pandas  # noqa: F401 - pyarrow imports it as soon as it makes an array
from pyspark import daemon

import logpersister.pipeline.job  # noqa: F401 - for the workers

if __name__ == "__main__":
    gc.freeze()  # a collection in a worker would touch, and so copy, what it shares
    daemon.manager()
