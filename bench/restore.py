"""``make bench ARGS=restore``: records of a backup into a topic, and beside it a script that copies the topic.

Both are processes of their own on the same broker, and take turns. Start-up counts, and everything is read from its
place: `logpersister restore` from the S3 server, the script (`bench.peer.copy_records`) from the broker. The consumers
of the script decode, and its producer encodes, record after record, without compression.
"""

import argparse
import itertools
import sys
from collections.abc import Sequence

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.replay import store, write_manifest
from bench.servers import Payload, fill, servers
from bench.spread import Spread
from bench.throughput import PARTITIONS, WIDTH
from bench.whole import timed
from tests.stack.topics import create_topic, delete_topic, end_offsets

OWN, SCRIPT = "restore", "script"


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
            file = write_manifest(running, payload.topic, payload.topic, output={"kafka": {}})
            store(file)
            broker = running.kafka.bootstrap
            restored = ["--topics", payload.topic, "--rename", f"{payload.topic}=target"]
            commands = {
                OWN: [sys.executable, "-m", "logpersister", "restore", "-f", file, "--to", broker, *restored],
                SCRIPT: [sys.executable, "-m", "bench.peer.copy_records", broker, payload.topic, "target"],
            }
            found: dict[str, list[tuple[float, float]]] = {OWN: [], SCRIPT: []}
            for _, name in itertools.product(range(options.rounds), commands):
                create_topic(broker, "target", partitions=PARTITIONS)
                found[name].append(timed(commands[name]))
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
