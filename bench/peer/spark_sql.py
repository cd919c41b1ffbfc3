"""Spark SQL: ``python -m bench.peer.spark_sql BROKERS FOLDER`` stores the topics that it reads from standard input.

A batch query with Spark's own Kafka source, ``from_json`` with the schema of the events, and Parquet. It prints a line
when it is ready, and one after each topic.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from bench.peer.columns import SPARK
from tests.stack.artifacts import spark_kafka_jars

CORES = 2


def main() -> None:
    """Store topic after topic."""
    brokers, folder = sys.argv[1], Path(sys.argv[2])
    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.jars", ",".join(map(str, spark_kafka_jars())))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.parquet.compression.codec", "zstd")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    print("ready", flush=True)
    for line in sys.stdin:
        topic = line.strip()
        records = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", brokers)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("endingOffsets", "latest")
            .load()
        )
        rows = records.select(from_json(col("value").cast("string"), SPARK).alias("row")).select("row.*")
        rows.write.parquet(str(folder / topic))
        print(topic, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
