"""``make bench ARGS=restore``: records of a backup into a topic, and beside it a script that copies the topic.

Both are processes of their own on the same broker, and take turns. Start-up counts, and everything is read from its
place: `logpersister restore` from the S3 server, the script (`bench.peer.copy_records`) from the broker. The consumers
of the script decode, and its producer encodes, record after record, without compression.
"""

import argparse
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import yaml
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.servers import Payload, Servers, fill, manifest, servers
from bench.spread import Spread
from bench.throughput import PARTITIONS, WIDTH
from tests.stack.topics import create_topic, delete_topic, end_offsets

OWN, SCRIPT = "restore", "script"


def _timed(command: Sequence[str]) -> tuple[float, float]:
    """Run a command; return seconds by the wall and of CPU."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"{command} ended with {status}")
    process.returncode = 0
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def _backup(running: Servers, topic: str) -> str:
    """Store a topic as a backup; return the file of its manifest."""
    file = running.folder / f"{topic}.yaml"
    file.write_text(
        yaml.safe_dump(manifest(running, topic, [topic], output={"kafka": {}}, upload={"maxBytes": "64Mi"}))
    )
    run = [sys.executable, "-m", "logpersister", "run", "-f", str(file), "--until-current", "--log-level", "warning"]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    return str(file)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure all that was asked for and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench restore", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000], help="record sizes, bytes")
    parser.add_argument("--topics", nargs="+", default=["none", "gzip"], help="compression by the producer: none gzip")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each configuration")
    parser.add_argument("--megabytes", type=int, default=200, help="payload of one measurement")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    table = Table(title="Records into a topic; median (least-most)", box=MARKDOWN)
    for column in ("record", "topic", "by", "records/s", "MB/s", "records/CPU s"):
        table.add_column(column, justify="right")
    with servers() as running:
        for size, codec in itertools.product(options.sizes, options.topics):
            payload, records = Payload("letters", size, codec), options.megabytes * 10**6 // size
            fill(running, payload.topic, payload, options.megabytes, partitions=PARTITIONS)
            file, broker = _backup(running, payload.topic), running.kafka.bootstrap
            restored = ["--topics", payload.topic, "--rename", f"{payload.topic}=target"]
            commands = {
                OWN: [sys.executable, "-m", "logpersister", "restore", "-f", file, "--to", broker, *restored],
                SCRIPT: [sys.executable, "-m", "bench.peer.copy_records", broker, payload.topic, "target"],
            }
            found: dict[str, list[tuple[float, float]]] = {OWN: [], SCRIPT: []}
            for _, name in itertools.product(range(options.rounds), commands):
                create_topic(broker, "target", partitions=PARTITIONS)
                found[name].append(_timed(commands[name]))
                if sum(end_offsets(broker, "target").values()) != records:
                    raise RuntimeError(f"{name} has not copied all")
                print(f"{payload.topic} {name}: {records / found[name][-1][0]:,.0f} records/s", flush=True)
                delete_topic(broker, "target")
            for name, times in found.items():
                rates = [[records / one[kind] for one in times] for kind in (0, 1)]
                table.add_row(
                    f"{size:,} B",
                    codec,
                    name,
                    Spread.of(rates[0]).text(),
                    Spread.of(rate * size / 1e6 for rate in rates[0]).text(),
                    Spread.of(rates[1]).text(),
                )
    Console(width=WIDTH).print(table)
