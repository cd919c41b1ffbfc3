"""Spark reads a backup as its own source of Kafka reads the topics."""

from collections.abc import Callable
from pathlib import Path
from random import randbytes
from typing import Any

import pyarrow as pa

from tests.integration.harness.examples import example
from tests.integration.harness.logs import write_transactions
from tests.integration.harness.scene import PREFIX, CreateTopic, Scene
from tests.integration.reader.backup_source import read_backup
from tests.integration.reader.spark_source import read_by_spark
from tests.stack import KafkaBroker, MinioServer
from tests.stack.topics import Record, produce

NOON = 1_700_049_600_000
"""2023-11-15T12:00:00Z."""


def sorted_rows(table: pa.Table) -> list[dict[str, Any]]:
    rows = table.to_pylist()
    for row in rows:
        row["headers"] = row["headers"] or []  # Spark's own source gives null for none
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["offset"]))


def test_a_backup_is_what_spark_reads_of_kafka(
    scene: Scene, topic: CreateTopic, kafka: KafkaBroker, minio: MinioServer, tmp_path: Path
) -> None:
    random, transactional, timed = topic(2), topic(compression_type="snappy"), topic(compression_type="lz4")
    for codec in (None, "gzip", "zstd"):
        coded = [Record(randbytes(300), partition=number % 2) for number in range(300)]
        produce(kafka.bootstrap, random, coded, compression=codec)
    write_transactions(kafka.bootstrap, transactional, rounds=2)
    headers = [("trace", b"1"), ("trace", b""), ("ü", b"\xff")]
    for hour in range(-3, 3):
        time = NOON + hour * 3_600_000
        values: list[bytes | None] = [None, b"null", b"", b"x" * 20_000]
        produce(kafka.bootstrap, timed, [Record(value, b"k", 0, time, headers) for value in values])
    manifest = scene.manifest(
        kafka={"topics": [random, transactional, timed]}, upload={"maxBytes": "64Ki"}, **example("backup")
    )
    scene.run_until_current(manifest)
    conditions: dict[str, Callable[[dict[str, Any]], bool]] = {
        "true": lambda row: True,
        f"topic = '{random}' and partition = 1": lambda row: row["topic"] == random and row["partition"] == 1,
        f"topic = '{random}' and offset >= 300 and offset < 400": lambda row: (
            row["topic"] == random and 300 <= row["offset"] < 400
        ),
        f"topic in ('{timed}', 'none') and timestamp >= timestamp '2023-11-15 12:00:00Z'": lambda row: (
            row["topic"] == timed and row["timestamp"] >= NOON
        ),
        f"topic = '{timed}' and (offset = 3 or value is null)": lambda row: (
            row["topic"] == timed and (row["offset"] == 3 or row["value"] is None)
        ),
    }
    options = {
        "endpoint": minio.endpoint,
        "region": minio.region,
        "accessKeyId": minio.access_key,
        "secretAccessKey": minio.secret_key,
    }
    answers = read_backup(f"s3://{scene.bucket.name}/{PREFIX}", options, list(conditions), tmp_path)
    level = "read_committed"
    expected = sorted_rows(read_by_spark(kafka.bootstrap, [random, transactional, timed], tmp_path, [level])[level])
    for condition, holds in conditions.items():
        assert sorted_rows(answers[condition].rows) == list(filter(holds, expected)), condition
        assert answers[condition].rows.num_rows, condition
    everything, *some = (answer.objects for answer in answers.values())
    assert everything == len(scene.bucket.objects())
    assert some[0] == len([one for one in scene.bucket.objects(random) if one.partition == 1])
    assert some[1] < len(scene.bucket.objects(random))
    assert some[2] == len(scene.bucket.objects(timed))
