"""Spark SQL: ``python -m bench.peer.spark_sql BROKERS FOLDER json|avro LEVEL`` stores topics of its standard input.

A batch query with Spark's own Kafka source, ``from_json`` or ``from_avro`` with the schema of the events, and Parquet
with that level of zstd. It prints a line when it is ready, and one after each topic.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import Column, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import col, expr, from_json

from bench.events import AVRO
from bench.peer.columns import SPARK
from tests.stack.artifacts import spark_avro_jar, spark_kafka_jars

CORES = 2
BEHIND_THE_HEADER = 6
"""Where an Avro value begins, counted from 1: Spark without a vendor's additions knows no header of a registry."""


def main() -> None:
    """Store topic after topic."""
    brokers, folder, kind, level = sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    spark = (
        SparkSession.builder.master(f"local[{CORES}]")
        .config("spark.jars", ",".join(map(str, [*spark_kafka_jars(), spark_avro_jar()])))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.parquet.compression.codec", "zstd")
        .config("spark.hadoop.parquet.compression.codec.zstd.level", level)
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
        records.select(_row(kind).alias("row")).select("row.*").write.parquet(str(folder / topic))
        print(topic, flush=True)
    spark.stop()


def _row(kind: str) -> Column:
    if kind == "json":
        return from_json(col("value").cast("string"), SPARK)
    return from_avro(expr(f"substring(value, {BEHIND_THE_HEADER})"), json.dumps(AVRO))


if __name__ == "__main__":
    main()
