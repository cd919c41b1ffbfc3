"""One Spark in this process reads all files."""

import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.readers.spark import session, settings
from tests.stack import artifacts


@pytest.fixture(scope="package")
def spark() -> Iterator[SparkSession]:
    own = {
        **settings(user_timezone="UTC"),  # by the zone Spark reads instants of ORC before 1900
        "spark.pyspark.python": sys.executable,
        "spark.sql.session.timeZone": "UTC",
        "spark.jars": str(artifacts.spark_avro_jar()),
    }
    opened = session(1, own)
    opened.sparkContext.setLogLevel("OFF")
    yield opened
    opened.stop()
