"""``make bench ARGS=latency``: seconds from a record's append to the listing of its object.

A producer appends a record every now and then to partitions in turn; the bucket is listed all the time. The record that
opens an object waits longest: ``maxAge`` and what comes on top of it.
"""

import argparse
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import psutil
from kafka import KafkaProducer

from bench import machine
from bench.member import member, raise_if_ended
from bench.servers import BUCKET, Servers, manifest, servers
from bench.spread import Spread
from tests.stack.topics import create_topic

TOPIC = "latency"
PARTITIONS = 8
LIST_SECONDS = 0.1
"""How often the bucket is listed: the resolution of all results."""
DEADLINE_SECONDS = 120.0


@dataclass(slots=True)
class Appends:
    """When the broker had acknowledged each record: seconds of the monotonic clock by partition, by offset."""

    times: dict[int, list[float]] = field(default_factory=lambda: {number: [] for number in range(PARTITIONS)})

    @property
    def total(self) -> int:
        return sum(map(len, self.times.values()))


@dataclass(frozen=True, slots=True)
class Seen:
    """An object, when it was listed first."""

    partition: int
    start: int
    end: int
    at: float


def append(running: Servers, appends: Appends, *, seconds: float, pause: float) -> None:
    """Append a record to one partition after the other for so long."""
    producer = KafkaProducer(bootstrap_servers=running.kafka.bootstrap, linger_ms=0)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        partition = appends.total % PARTITIONS
        producer.send(TOPIC, value=b"x" * 200, partition=partition).get(timeout=10)
        appends.times[partition].append(time.monotonic())
        time.sleep(pause)
    producer.close()


def watch(running: Servers, prefix: str) -> Iterator[Sequence[Seen]]:
    """List the bucket for ever; yield the objects that were not there before."""
    client = running.minio.client()
    known: set[str] = set()
    while True:
        began = time.monotonic()
        listed = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/{TOPIC}/")
        keys = {entry["Key"] for page in listed for entry in page.get("Contents", [])}
        at = time.monotonic()
        new = []
        for key in sorted(keys - known):
            facts = client.head_object(Bucket=BUCKET, Key=key)["Metadata"]
            new.append(Seen(int(facts["partition"]), int(facts["start"]), int(facts["end"]), at))
        known |= keys
        yield new
        time.sleep(max(0.0, LIST_SECONDS - (time.monotonic() - began)))


def run(running: Servers, *, max_age: float, seconds: float, pause: float) -> tuple[list[float], list[float]]:
    """Return the latencies of the first record of each object, and of all records."""
    create_topic(running.kafka.bootstrap, TOPIC, partitions=PARTITIONS)
    document = manifest(running, "latency", [TOPIC], upload={"maxAge": f"{max_age:g}s"})
    appends = Appends()
    producer = threading.Thread(target=append, args=(running, appends), kwargs={"seconds": seconds, "pause": pause})
    objects: list[Seen] = []
    with member(running, document) as process:
        producer.start()
        deadline = time.monotonic() + seconds + max_age + DEADLINE_SECONDS
        for new in watch(running, "latency"):
            objects += new
            if not producer.is_alive() and sum(one.end - one.start for one in objects) == appends.total:
                break
            _check(process, deadline)
    producer.join()
    first = [one.at - appends.times[one.partition][one.start] for one in objects if one.start > 0]
    every = [one.at - at for one in objects for at in appends.times[one.partition][one.start : one.end]]
    return first, every


def _check(process: psutil.Popen, deadline: float) -> None:
    raise_if_ended(process)
    if time.monotonic() > deadline:
        raise TimeoutError("not everything was stored in time")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the spread."""
    parser = argparse.ArgumentParser(prog="python -m bench latency", description=__doc__)
    parser.add_argument("--max-age", type=float, default=10.0, help="spec.upload.maxAge, seconds")
    parser.add_argument("--seconds", type=float, default=120.0, help="how long records are appended")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two records")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    with servers() as running:
        first, every = run(running, max_age=options.max_age, seconds=options.seconds, pause=options.pause)
    print(f"maxAge {options.max_age:g} s, {len(first)} objects, {len(every)} records; median (least-most) of seconds")
    print(f"  first record of an object: {Spread.of(first).text(2)}")
    print(f"  every record: {Spread.of(every).text(2)}")
