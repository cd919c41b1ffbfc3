"""``make bench ARGS=trickle``: 2,000 partitions with a trickle each, one member.

Each cycle appends a few records to every partition and waits until all of them are stored. CPU is that of the member
(driver, JVM and workers; its idling while it waits is in it); the producer's is not in it.
"""

import argparse
import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import psutil
from kafka import KafkaProducer
from kafka.errors import RetriableError

from bench import machine
from bench.member import member, raise_if_ended
from bench.processes import Usage, watched
from bench.servers import Servers, manifest, servers
from bench.spread import Spread
from tests.stack.clients import admin_client
from tests.stack.topics import create_topic

PARTITIONS_PER_TOPIC = 100
DEADLINE_SECONDS = 300.0
GROUP = "trickle"
SETTLING_CYCLES = 2
"""The first one includes the start of everything, the second one still builds caches."""


@dataclass(frozen=True, slots=True)
class CycleUsage:
    """What one cycle cost."""

    seconds: float
    usage: Usage


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
    with admin_client(running.kafka.bootstrap) as client:
        while time.monotonic() < deadline:
            with contextlib.suppress(RetriableError):  # a new broker has no coordinator yet
                offsets = client.list_group_offsets([GROUP])[GROUP]
                if sum(entry.offset for entry in offsets.values()) == total:
                    return
            raise_if_ended(process)
            time.sleep(0.2)
    raise TimeoutError(f"not stored after {DEADLINE_SECONDS:g} s")


def run(running: Servers, *, partitions: int, cycles: int, records: int) -> Iterator[CycleUsage]:
    """Yield what each cycle cost."""
    topics = [f"trickle-{number}" for number in range(partitions // PARTITIONS_PER_TOPIC)]
    for topic in topics:
        create_topic(running.kafka.bootstrap, topic, partitions=PARTITIONS_PER_TOPIC)
    total = 0
    soon = {"output": {"text": {"compression": "gzip"}}, "upload": {"maxAge": "1s"}}
    with member(running, manifest(running, GROUP, topics, **soon)) as process:
        for _ in range(cycles):
            started = time.perf_counter()
            with watched(process.pid, running.processes) as usage:
                total += append(running, topics, records)
                wait_until_stored(running, total, process)
            yield CycleUsage(time.perf_counter() - started, usage)


def _by_kind(amounts: Mapping[str, float], unit: float, digits: int) -> str:
    return ", ".join(f"{kind} {amount / unit:.{digits}f}" for kind, amount in sorted(amounts.items()))


def _line(number: int, cycle: CycleUsage) -> str:
    usage = cycle.usage
    return (
        f"cycle {number:3}: {cycle.seconds:6.1f} s  {usage.cpu_seconds:6.2f} CPU s "
        f"({_by_kind(usage.cpu_by_kind, 1, 2)}; beside it {_by_kind(usage.cpu_of_others, 1, 1)})  "
        f"{usage.peak_bytes / 1e6:6.0f} MB ({_by_kind(usage.bytes_by_kind, 1e6, 0)})"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the trickle, print a line a cycle and the median of those after the first ones."""
    parser = argparse.ArgumentParser(prog="python -m bench trickle", description=__doc__)
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--cycles", type=int, default=12)
    parser.add_argument("--records", type=int, default=2, help="appended to each partition in each cycle")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    done: list[CycleUsage] = []
    with servers() as running:
        cycles = run(running, partitions=options.partitions, cycles=options.cycles, records=options.records)
        for number, cycle in enumerate(cycles, 1):
            done.append(cycle)
            print(_line(number, cycle), flush=True)
    settled = done[SETTLING_CYCLES:] or done
    print(
        f"cycles after the first {len(done) - len(settled)}, median (least-most): "
        f"{Spread.of(cycle.usage.cpu_seconds for cycle in settled).text(1)} CPU s, "
        f"{Spread.of(cycle.usage.peak_bytes / 1e6 for cycle in settled).text()} MB"
    )
