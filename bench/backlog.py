"""``make bench ARGS=backlog``: the memory of a member against the size of its backlog.

The same member works off backlogs of different sizes, each in a process of its own; shown is the largest memory of all
its processes together, and of each kind.
"""

import argparse
from collections.abc import Sequence

from bench import child, machine
from bench.servers import Payload, fill, servers

PARTITIONS = 4
SPEC = {"output": {"format": "text", "compression": "gzip"}, "upload": {"maxBytes": "256Mi"}}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size and print a line."""
    parser = argparse.ArgumentParser(prog="python -m bench backlog", description=__doc__)
    parser.add_argument("--gigabytes", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--record-bytes", type=int, default=1000)
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    for gigabytes in options.gigabytes:
        with servers() as running:  # new ones for each: the disk need not hold all of them
            payload = Payload("letters", options.record_bytes)
            fill(running, child.warm_up_topic(payload), payload, 100, partitions=PARTITIONS)
            fill(running, payload.topic, payload, gigabytes * 1000, partitions=PARTITIONS)
            result = child.measure(running, f"backlog-{gigabytes}", payload, SPEC)
        kinds = ", ".join(f"{kind} {size / 1e6:.0f}" for kind, size in sorted(result.usage.bytes_by_kind.items()))
        print(
            f"{gigabytes:3} GB: at most {result.usage.peak_bytes / 1e6:.0f} MB ({kinds}), {result.objects} objects, "
            f"{result.megabytes_per_cpu_second:.0f} MB per CPU second",
            flush=True,
        )
