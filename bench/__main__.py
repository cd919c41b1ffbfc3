"""``make bench``: throughput, CPU and memory of the whole persister on a real broker and a real S3 server.

Record sizes times formats; each configuration in a process of its own, after a warm-up. Payload is keys and values as
consumers see them. CPU is that of driver, JVM and Python workers together; broker and S3 server are not in it.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from rich.console import Console
from rich.table import Table

from bench.measure import Result
from tests.stack.kafka import KafkaBroker
from tests.stack.minio import MinioServer
from tests.stack.topics import create_topic, produce_many

PARTITIONS = 4
BUCKET = "bench"
WIDTH = 120
"""Columns of the table, also where output is not a terminal."""
FORMATS: Mapping[str, Mapping[str, str]] = {
    "text none": {"format": "text", "compression": "none"},
    "text gzip": {"format": "text", "compression": "gzip"},
    "text zstd": {"format": "text", "compression": "zstd"},
    "sequencefile none": {"format": "sequencefile", "compression": "none"},
}


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the servers listen."""

    kafka: KafkaBroker
    minio: MinioServer


@contextmanager
def servers() -> Iterator[Servers]:
    """Start a broker and an S3 server for the time of the block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logpersister-bench-")))
        kafka = KafkaBroker(folder / "kafka", heap="1g")
        minio = MinioServer(folder / "minio")
        for server in (kafka, minio):
            server.start()
            stack.callback(server.stop)
        secrets = folder / "secrets" / "s3"
        secrets.mkdir(parents=True)
        (secrets / "AWS_ACCESS_KEY_ID").write_text(minio.access_key)
        (secrets / "AWS_SECRET_ACCESS_KEY").write_text(minio.secret_key)
        os.environ["LOGPERSISTER_SECRETS_DIR"] = str(secrets.parent)
        client = boto3.client(
            "s3",
            endpoint_url=minio.endpoint,
            region_name="us-east-1",
            aws_access_key_id=minio.access_key,
            aws_secret_access_key=minio.secret_key,
        )
        client.create_bucket(Bucket=BUCKET)
        yield Servers(kafka, minio)


def fill(kafka: KafkaBroker, topic: str, record_bytes: int, megabytes: int) -> None:
    """Create a topic with so much random payload (upper-case letters, as Kafka's performance tool makes it)."""
    create_topic(kafka.bootstrap, topic, partitions=PARTITIONS)
    produce_many(kafka, topic, records=megabytes * 10**6 // record_bytes, record_bytes=record_bytes)


def manifest(running: Servers, name: str, topics: list[str], output: Mapping[str, str]) -> dict[str, Any]:
    """Return the manifest of one configuration."""
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {"name": name},
        "spec": {
            "kafka": {"bootstrapServers": running.kafka.bootstrap, "topics": topics},
            "storage": {
                "bucket": BUCKET,
                "prefix": name,
                "endpoint": running.minio.endpoint,
                "region": "us-east-1",
                "secretName": "s3",
            },
            "output": dict(output),
            "upload": {"maxBytes": "64Mi"},
        },
    }


def run_one(running: Servers, size: int, label: str) -> Result:
    """Measure one configuration in a process of its own."""
    name = f"b{size}-{label.replace(' ', '-')}"
    warm_up, measured = f"warm-{size}", f"payload-{size}"
    request = {
        "manifest": manifest(running, name, [warm_up, measured], FORMATS[label]),
        "warm_up": warm_up,
        "measured": measured,
    }
    done = subprocess.run(
        [sys.executable, "-m", "bench.measure"],
        input=json.dumps(request),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Measure all that was asked for and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000, 10_000], help="record sizes, bytes")
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=list(FORMATS))
    parser.add_argument("--megabytes", type=int, default=500, help="payload of one measurement")
    parser.add_argument("--warm-up", type=int, default=100, help="megabytes that are not measured, first")
    parser.add_argument("--json", action="store_true", help="print results as JSON lines")
    arguments = parser.parse_args()
    table = Table(
        title=f"logpersister on {os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    )
    for column in ("record", "output", "records/s", "MB/s", "MB per CPU s", "peak MB", "objects", "stored/payload"):
        table.add_column(column, justify="left" if column == "output" else "right")
    with servers() as running:
        for size in arguments.sizes:
            fill(running.kafka, f"warm-{size}", size, arguments.warm_up)
            fill(running.kafka, f"payload-{size}", size, arguments.megabytes)
            for label in arguments.formats:
                result = run_one(running, size, label)
                row = _row(size, label, result)
                table.add_row(*row)
                print(
                    json.dumps(dict(zip((c.header for c in table.columns), row, strict=True)))
                    if arguments.json
                    else row
                )
    if not arguments.json:
        Console(width=WIDTH).print(table)


def _row(size: int, label: str, result: Result) -> tuple[str, ...]:
    return (
        f"{size:,} B",
        label,
        f"{result.records / result.seconds:,.0f}",
        f"{result.megabytes_per_second:,.0f}",
        f"{result.megabytes_per_cpu_second:,.0f}",
        f"{result.peak_bytes / 1e6:,.0f}",
        str(result.objects),
        f"{result.stored_bytes / result.payload_bytes:.2f}",
    )


if __name__ == "__main__":
    main()
