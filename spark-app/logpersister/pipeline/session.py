"""The Spark session of a member."""

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

LOCAL_MEMORY = "1g"
"""Heap of the JVM in local mode: no record passes through it, only plans and outcomes."""


def start_session(name: str, conf: Mapping[str, str], *, executors: int, cores: int | None = None) -> SparkSession:
    """Start Spark: inside this process when ``executors`` is 0, otherwise against the Kubernetes that we run in.

    Args:
        conf: the user's own settings (``spec.spark.conf``).
        cores: how many tasks run at once in this process; all cores of the machine unless given.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers must have our packages
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",  # a large job must not hold back a small one
        "spark.python.worker.reuse": "true",  # connections to Kafka and S3 outlive a task
        "spark.driver.memory": LOCAL_MEMORY,
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "ERROR",
    }
    if executors == 0:
        settings |= {
            "spark.master": f"local[{cores or '*'}]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    else:
        settings["spark.executor.instances"] = str(executors)
    builder = SparkSession.builder.appName(name)
    for key, value in (settings | dict(conf)).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
