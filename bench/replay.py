"""``make bench ARGS=replay``: a backup as Parquet files of rows, and beside it a script that does so record by record.

Both are processes of their own, read record batches of JSON events from the S3 server and write to it, and take turns.
Start-up and end count, those of Spark's JVM included. `logpersister replay` also notes its progress in Kafka, and
stores exactly once; the script (`bench.peer.replay_backup`) does neither.
"""

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.parquet as pq
import yaml
from pyarrow import fs
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.events import SCHEMA
from bench.servers import BUCKET, Payload, Servers, empty_bucket, fill, manifest, servers
from bench.spread import Spread
from bench.throughput import PARTITIONS, WIDTH
from bench.whole import timed

OWN, SCRIPT = "replay", "script"
_RUN = ("--until-current", "--log-level", "warning")


def write_manifest(running: Servers, name: str, topic: str, **spec: Any) -> str:
    """Return the file of a manifest of a group of one topic, with objects of 64 MiB."""
    file = running.folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(manifest(running, name, [topic], upload={"maxBytes": "64Mi"}, **spec)))
    return str(file)


def store(file: str) -> None:
    """Be a member of the group of a manifest until all is stored."""
    command = [sys.executable, "-m", "logpersister", "run", "-f", file, *_RUN]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _rows(running: Servers, prefix: str, part: str) -> int:
    """Return how many rows the files below a prefix have whose names have such a part."""
    bucket = fs.S3FileSystem(
        access_key=running.minio.access_key,
        secret_key=running.minio.secret_key,
        endpoint_override=running.minio.endpoint,
        region=running.minio.region,
    )
    found = bucket.get_file_info(fs.FileSelector(f"{BUCKET}/{prefix}", recursive=True))
    files = [one.path for one in found if one.path.endswith(".parquet") and part in one.path]
    return sum(pq.ParquetFile(file, filesystem=bucket).metadata.num_rows for file in files)


def _measure(running: Servers, topic: str, rounds: int, records: int) -> Mapping[str, list[tuple[float, float]]]:
    """Return seconds by the wall and of CPU of each round of both."""
    backup = write_manifest(running, f"{topic}-backup", topic, output={"kafka": {}})
    live = f"{topic}-live"
    for file in (backup, write_manifest(running, live, topic, output={"text": {}})):
        store(file)
    own = [sys.executable, "-m", "logpersister", "replay", "--backup", backup, "--source", "backup"]
    script = [sys.executable, "-m", "bench.peer.replay_backup", running.minio.endpoint, BUCKET]
    found: dict[str, list[tuple[float, float]]] = {OWN: [], SCRIPT: []}
    for generation, name in itertools.product(range(2, 2 + rounds), found):
        prefix, part = (live, f"/{generation}_") if name == OWN else (f"script-{generation}", "/")
        if name == OWN:
            spec = {"output": {"parquet": {}}, "value": {"json": dict(SCHEMA)}, "generation": generation}
            command = [*own, "-f", write_manifest(running, live, topic, **spec), "--log-level", "warning"]
        else:
            command = [*script, f"{topic}-backup/{topic}/", f"{prefix}/"]
        found[name].append(timed(command))
        if (rows := _rows(running, prefix, part)) != records:
            raise RuntimeError(f"{name} has stored {rows:,} rows of {records:,}")
        print(f"{topic} {name}: {found[name][-1][1]:.1f} CPU s", flush=True)
    for prefix in (f"{topic}-backup", live, *(f"script-{generation}" for generation in range(2, 2 + rounds))):
        empty_bucket(running, prefix)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all that was asked for and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench replay", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 1000], help="of events, bytes")
    parser.add_argument("--topics", nargs="+", default=["none", "zstd"], help="compression by the producer: none lz4 …")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each configuration")
    parser.add_argument("--megabytes", type=int, default=200, help="payload of one measurement")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    table = Table(title="A backup as Parquet; MB of JSON, median (least-most)", box=MARKDOWN)
    for column in ("record", "topic", "by", "MB/CPU s", "MB/s"):
        table.add_column(column, justify="right")
    with servers() as running:
        os.environ |= {"AWS_ACCESS_KEY_ID": running.minio.access_key, "AWS_REGION": running.minio.region}
        os.environ["AWS_SECRET_ACCESS_KEY"] = running.minio.secret_key
        for size, codec in itertools.product(options.sizes, options.topics):
            payload, records = Payload("event", size, codec), options.megabytes * 10**6 // size
            fill(running, payload.topic, payload, options.megabytes, partitions=PARTITIONS)
            for name, times in _measure(running, payload.topic, options.rounds, records).items():
                rates = [Spread.of(records * size / 1e6 / one[kind] for one in times).text(1) for kind in (1, 0)]
                table.add_row(f"{size:,} B", codec, name, *rates)
    Console(width=WIDTH).print(table)
