"""Reads topics with Spark's own Kafka source, in a process of its own: the jars must be there when its JVM starts.

    python -m tests.integration.reader.spark_source BOOTSTRAP FOLDER LEVEL,... TOPIC...

writes every record of the topics into one Arrow file for each isolation level, all in one JVM.
It shares no code with what it is compared with.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
from pyspark.sql import DataFrame, SparkSession

from tests.readers import spark
from tests.stack import artifacts

ISOLATION_LEVELS = ("read_committed", "read_uncommitted")
_SECONDS = 240


def read_by_spark(
    bootstrap: str, topics: list[str], folder: Path, levels: Sequence[str] = ISOLATION_LEVELS
) -> dict[str, pa.Table]:
    """Return, by isolation level, topic, partition, offset, timestamp (ms), key, value and headers of every record.

    ``folder`` takes the files in which they come.
    """
    command = [sys.executable, "-m", __name__, bootstrap, str(folder), ",".join(levels), *topics]
    done = subprocess.run(command, cwd=artifacts.ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {isolation: pyarrow.feather.read_table(_file(folder, isolation)) for isolation in levels}


def _file(folder: Path, isolation: str) -> Path:
    return folder / f"{isolation}.arrow"


def _main(bootstrap: str, folder: str, levels: str, *topics: str) -> None:
    jars = ",".join(map(str, artifacts.spark_kafka_jars()))
    session = spark.session(2, {"spark.jars": jars, "spark.driver.memory": "1g"})
    for isolation in levels.split(","):
        found = _read(session, bootstrap, isolation, topics)
        pyarrow.feather.write_feather(found.toArrow(), _file(Path(folder), isolation))
    session.stop()


def _read(session: SparkSession, bootstrap: str, isolation: str, topics: Sequence[str]) -> DataFrame:
    return (
        session.read.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("kafka.isolation.level", isolation)
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
        .option("endingOffsets", "latest")
        .option("includeHeaders", "true")
        .load()
        .selectExpr("topic", "partition", "offset", "unix_millis(timestamp) as timestamp", "key", "value", "headers")
    )


if __name__ == "__main__":
    _main(*sys.argv[1:])
