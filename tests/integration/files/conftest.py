"""One Spark in this process reads all files."""

import sys
from collections.abc import Iterator

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from logpersister.pipeline.session import JVM_OPTIONS
from tests.stack import artifacts


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    settings = {
        "spark.ui.enabled": "false",
        "spark.pyspark.python": sys.executable,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        # By the zone Spark reads instants of ORC before 1900.
        "spark.driver.extraJavaOptions": f"{JVM_OPTIONS} -Duser.timezone=UTC",
        "spark.jars": str(artifacts.spark_avro_jar()),
    }
    context = SparkContext(master="local[1]", appName="tests", conf=SparkConf().setAll(list(settings.items())))
    context.setLogLevel("OFF")
    yield SparkSession(context)
    context.stop()
