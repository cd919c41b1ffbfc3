"""``python -m bench.trickle``: 2,000 partitions with a trickle each, one member.

Each cycle appends a few records to every partition and waits until all of them are stored. Shown per cycle: CPU seconds
of the member (driver, JVM, workers; its idling while it waits is in it), its memory, and how many objects came.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import yaml
from kafka import KafkaProducer
from kafka.errors import RetriableError

from bench.__main__ import BUCKET, Servers, servers
from bench.processes import Usage, watched
from tests.stack.topics import admin, create_topic

PARTITIONS_PER_TOPIC = 100
DEADLINE_SECONDS = 300.0
GROUP = "trickle"


@dataclass(frozen=True, slots=True)
class CycleUsage:
    """What one cycle cost."""

    seconds: float
    usage: Usage


def manifest(running: Servers, topics: Sequence[str]) -> dict[str, Any]:
    """Return a manifest under which a record is stored in the next round of the member."""
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {"name": GROUP},
        "spec": {
            "kafka": {"bootstrapServers": running.kafka.bootstrap, "topics": list(topics)},
            "storage": {
                "bucket": BUCKET,
                "prefix": "trickle",
                "endpoint": running.minio.endpoint,
                "region": "us-east-1",
                "secretName": "s3",
            },
            "output": {"format": "text", "compression": "gzip"},
            "upload": {"maxAge": "1s"},
        },
    }


@contextmanager
def member(document: dict[str, Any]) -> Iterator[psutil.Popen]:
    """Run a member for the time of the block."""
    with tempfile.TemporaryDirectory(prefix="logpersister-trickle-") as folder:
        file = Path(folder) / "manifest.yaml"
        file.write_text(yaml.safe_dump(document))
        command = [sys.executable, "-m", "logpersister", "run", "-f", str(file), "--log-level", "warning"]
        process = psutil.Popen(command, env=dict(os.environ), stdout=subprocess.DEVNULL)
        try:
            yield process
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
                process.wait(60)


def append(running: Servers, topics: Sequence[str], records: int) -> int:
    """Append so many records to every partition; return how many in all."""
    producer = KafkaProducer(bootstrap_servers=running.kafka.bootstrap, linger_ms=50)
    for topic in topics:
        for partition in range(PARTITIONS_PER_TOPIC):
            for number in range(records):
                producer.send(topic, value=b'{"trickle": %d}' % number, partition=partition)
    producer.flush()
    producer.close()
    return len(topics) * PARTITIONS_PER_TOPIC * records


def wait_until_stored(running: Servers, total: int, process: psutil.Popen) -> None:
    """Wait until the group's committed offsets add up to everything that was appended."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    with admin(running.kafka.bootstrap) as client:
        while time.monotonic() < deadline:
            with contextlib.suppress(RetriableError):  # a new broker has no coordinator yet
                offsets = client.list_group_offsets([GROUP])[GROUP]
                if sum(entry.offset for entry in offsets.values()) == total:
                    return
            if process.poll() is not None:
                raise RuntimeError(f"the member ended with {process.returncode}")
            time.sleep(0.2)
    raise TimeoutError(f"not stored after {DEADLINE_SECONDS:g} s")


def run(running: Servers, *, partitions: int, cycles: int, records: int) -> Iterator[CycleUsage]:
    """Yield what each cycle cost; the first one includes the start."""
    topics = [f"trickle-{number}" for number in range(partitions // PARTITIONS_PER_TOPIC)]
    for topic in topics:
        create_topic(running.kafka.bootstrap, topic, partitions=PARTITIONS_PER_TOPIC)
    total = 0
    with member(manifest(running, topics)) as process:
        for _ in range(cycles):
            started = time.perf_counter()
            with watched(process.pid) as usage:
                total += append(running, topics, records)
                wait_until_stored(running, total, process)
            yield CycleUsage(time.perf_counter() - started, usage)


def _by_kind(amounts: Mapping[str, float], unit: float, digits: int) -> str:
    return ", ".join(f"{kind} {amount / unit:.{digits}f}" for kind, amount in sorted(amounts.items()))


def main() -> None:
    """Run the trickle and print a line a cycle."""
    parser = argparse.ArgumentParser(prog="python -m bench.trickle", description=__doc__)
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--cycles", type=int, default=10)
    parser.add_argument("--records", type=int, default=2, help="appended to each partition in each cycle")
    arguments = parser.parse_args()
    with servers() as running:
        cycles = run(running, partitions=arguments.partitions, cycles=arguments.cycles, records=arguments.records)
        for number, cycle in enumerate(cycles, 1):
            print(
                f"cycle {number:3}: {cycle.seconds:6.1f} s  {cycle.usage.cpu_seconds:6.2f} CPU s "
                f"({_by_kind(cycle.usage.cpu_by_kind, 1, 2)})  {cycle.usage.peak_bytes / 1e6:6.0f} MB "
                f"({_by_kind(cycle.usage.bytes_by_kind, 1e6, 0)})",
                flush=True,
            )


if __name__ == "__main__":
    main()
