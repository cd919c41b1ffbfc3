"""``make bench ARGS=rebalance``: 2,000 partitions that change hands.

Two members store 2,000 partitions. In each round a second member comes and gets half of them, then goes and gives them
back. Each time a record is appended to every partition as soon as Kafka has shared them out; told is how long it takes
until all of these are stored, which is when whoever got a partition knows what to do with it and has done it, and what
CPU that costs the member that stays (driver, JVM and workers).
"""

import argparse
import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from kafka.errors import KafkaError

from bench import machine
from bench.member import member
from bench.processes import Usage, watched
from bench.servers import Servers, manifest, servers
from bench.spread import Spread
from bench.trickle import DEADLINE_SECONDS, GROUP, PARTITIONS_PER_TOPIC, append, wait_until_stored
from logpersister.group.description import describe
from tests.stack.clients import admin_client
from tests.stack.topics import create_topic


@dataclass(frozen=True, slots=True)
class Change:
    """What one change of hands took."""

    name: str
    shared_out: float
    """Seconds from the start of the second member, or from its end, until Kafka has shared out the partitions."""
    stored: float
    """Seconds from then until one record of each partition is stored."""
    usage: Usage


def wait_members(running: Servers, count: int, partitions: int) -> None:
    """Wait until so many members have equal shares of all partitions, by what the group's coordinator says."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    with admin_client(running.kafka.bootstrap) as client:
        while time.monotonic() < deadline:
            with contextlib.suppress(KafkaError):  # a new broker has no coordinator yet
                group = describe(client, GROUP)
                shares = [len(one.assignment) for one in group.members]
                if group.state == "Stable" and shares == [partitions // count] * count:
                    return
            time.sleep(0.1)
    raise TimeoutError(f"not shared out among {count} after {DEADLINE_SECONDS:g} s")


def run(running: Servers, *, partitions: int, rounds: int) -> Iterator[Change]:
    """Yield what each change of hands took."""
    topics = [f"rebalance-{number}" for number in range(partitions // PARTITIONS_PER_TOPIC)]
    for topic in topics:
        create_topic(running.kafka.bootstrap, topic, partitions=PARTITIONS_PER_TOPIC)
    document = manifest(running, GROUP, topics, upload={"maxAge": "1s"})
    total = 0
    with ExitStack() as stack:
        staying = stack.enter_context(member(running, document))
        wait_members(running, 1, partitions)
        total += append(running, topics, 1)
        wait_until_stored(running, total, staying)
        for _ in range(rounds):
            guest = ExitStack()
            stack.push(guest)
            began = time.perf_counter()
            guest.enter_context(member(running, document))
            for name, members in (("comes", 2), ("goes", 1)):
                with watched(staying.pid) as usage:
                    wait_members(running, members, partitions)
                    shared_out = time.perf_counter()
                    total += append(running, topics, 1)
                    wait_until_stored(running, total, staying)
                yield Change(name, shared_out - began, time.perf_counter() - shared_out, usage)
                began = time.perf_counter()
                guest.close()


def main(arguments: Sequence[str] | None = None) -> None:
    """Let a member come and go, print a line for each time and the medians."""
    parser = argparse.ArgumentParser(prog="python -m bench rebalance", description=__doc__)
    parser.add_argument("--partitions", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    done: list[Change] = []
    with servers() as running:
        for change in run(running, partitions=options.partitions, rounds=options.rounds):
            done.append(change)
            print(
                f"a member {change.name:5}: shared out after {change.shared_out:5.1f} s, "
                f"all stored {change.stored:5.1f} s later, {change.usage.cpu_seconds:5.1f} CPU s of the one that stays",
                flush=True,
            )
    for name in ("comes", "goes"):
        changes = [change for change in done if change.name == name]
        print(
            f"a member {name:5}, median (least-most): shared out {Spread.of(c.shared_out for c in changes).text(1)} s, "
            f"stored {Spread.of(c.stored for c in changes).text(1)} s, "
            f"{Spread.of(c.usage.cpu_seconds for c in changes).text(1)} CPU s"
        )
