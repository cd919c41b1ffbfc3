"""Reads topics with Spark's own Kafka source, in a process of its own: the jars must be there when its JVM starts.

    python -m tests.integration.reader.spark_source BOOTSTRAP ISOLATION OUTPUT TOPIC...

writes every record of the topics into one Arrow file. It shares no code with what it is compared with.
"""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
from pyspark.sql import SparkSession

from tests.stack import artifacts

_SECONDS = 240


def read_by_spark(bootstrap: str, isolation: str, topics: list[str], output: Path) -> pa.Table:
    """Return topic, partition, offset, timestamp (ms), key, value and headers of every record of the topics."""
    command = [sys.executable, "-m", __name__, bootstrap, isolation, str(output), *topics]
    done = subprocess.run(command, cwd=artifacts.ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return pyarrow.feather.read_table(output)


def _main(bootstrap: str, isolation: str, output: str, *topics: str) -> None:
    settings = {
        "spark.jars": ",".join(map(str, artifacts.spark_kafka_jars())),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    builder = SparkSession.builder.master("local[2]").appName("second-opinion")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    records = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", isolation)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .option("includeHeaders", "true")
        .load()
        .selectExpr("topic", "partition", "offset", "unix_millis(timestamp) as timestamp", "key", "value", "headers")
    )
    pyarrow.feather.write_feather(records.toArrow(), output)
    spark.stop()


if __name__ == "__main__":
    _main(*sys.argv[1:])
