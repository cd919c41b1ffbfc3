"""Measures one configuration in a process of its own: ``python -m bench.measure`` reads a request, prints a result.

The whole persister is measured, hot: a real member (planning, promising, Spark, Kafka, S3, committing) first works off
a warm-up topic, then the measured one.
"""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bench.processes import watched
from logpersister import __version__, manifest
from logpersister.manifest.revision import revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.member.assembly import Assembly, assemble
from logpersister.member.current import behind
from logpersister.member.listener import Listener
from logpersister.pipeline.work import RangeOutcome
from logpersister.ranges import Offset, TopicPartition

DEADLINE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement."""

    records: int
    payload_bytes: int
    stored_bytes: int
    objects: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int

    @property
    def megabytes_per_second(self) -> float:
        return self.payload_bytes / self.seconds / 1e6

    @property
    def megabytes_per_cpu_second(self) -> float:
        return self.payload_bytes / self.cpu_seconds / 1e6


class _Sums(Listener):
    def __init__(self) -> None:
        self.outcomes: list[RangeOutcome] = []

    def stored(self, outcome: RangeOutcome) -> None:
        self.outcomes.append(outcome)


def measure(document: Mapping[str, Any], warm_up: str, measured: str) -> Result:
    """Run a member on a manifest with two topics; measure the second one."""
    resource = manifest.parse(dict(document))
    sums = _Sums()
    with assemble(resource, revision_of(resource, __version__), Secrets(), listener=sums) as assembly:
        assembly.group.start()
        _work_off(assembly, warm_up)
        sums.outcomes.clear()
        started = time.perf_counter()
        with watched() as usage:
            _work_off(assembly, measured)
        seconds = time.perf_counter() - started
    return Result(
        records=sum(outcome.records for outcome in sums.outcomes),
        payload_bytes=sum(outcome.payload_bytes for outcome in sums.outcomes),
        stored_bytes=sum(outcome.stored_bytes for outcome in sums.outcomes),
        objects=sum(len(outcome.objects) for outcome in sums.outcomes),
        seconds=seconds,
        cpu_seconds=usage.cpu_seconds,
        peak_bytes=usage.peak_bytes,
    )


def _work_off(assembly: Assembly, topic: str) -> None:
    """Turn the cycle until everything in a topic is stored."""
    targets = _ends(assembly, topic)
    cycle = assembly.cycle
    cycle.targets = targets
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        cycle.turn()
        at_rest = assembly.group.joined and not cycle.execution.jobs_in_flight
        if at_rest and not behind(targets, cycle.book, assembly.offsets):
            return
        time.sleep(min(0.05, cycle.seconds_to_next()))
    raise TimeoutError(f"{topic} is not stored after {DEADLINE_SECONDS:g} s")


def _ends(assembly: Assembly, topic: str) -> dict[TopicPartition, Offset]:
    described = assembly.offsets.describe([topic])[topic]
    return assembly.offsets.ends([TopicPartition(topic, partition) for partition in described.leaders]).values


def main() -> None:
    """Read ``{"manifest", "warm_up", "measured"}`` as JSON from standard input; print the result as JSON."""
    request = json.load(sys.stdin)
    json.dump(asdict(measure(request["manifest"], request["warm_up"], request["measured"])), sys.stdout)


if __name__ == "__main__":
    main()
