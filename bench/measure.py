"""Measures one configuration in a process of its own: ``python -m bench.measure`` reads a request, prints a result.

The whole persister is measured: a real member (planning, promising, Spark, Kafka, S3, committing) starts, works off a
warm-up topic, and then, hot, the measured one.
"""

import json
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.local_executors import executors_here
from bench.processes import Usage, cpu_seconds, watched
from logpersister import __version__, manifest
from logpersister.manifest.revisions.revision import revision_of
from logpersister.manifest.secrets import Secrets
from logpersister.member.assembly import Assembly, assemble
from logpersister.member.listener import Listener
from logpersister.member.target_offsets import behind
from logpersister.pipeline.rules import rules_of
from logpersister.pipeline.session import fork_early
from logpersister.pipeline.work import RangeOutcome
from logpersister.ranges import Offset, TopicPartition

DEADLINE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Result:
    """One measurement. Seconds are by the wall unless they are of CPU."""

    records: int
    payload_bytes: int
    stored_bytes: int
    objects: int
    seconds: float
    usage: Usage
    """Of the measured topic alone."""
    start_seconds: float
    """From the first line of this module to a member that has joined its group."""
    start_cpu: Mapping[str, float]
    """CPU seconds of that by kind of process, the interpreter's start included."""
    warm_up_cpu: float
    """CPU seconds of the warm-up topic."""

    @property
    def megabytes_per_second(self) -> float:
        return self.payload_bytes / self.seconds / 1e6

    @property
    def megabytes_per_cpu_second(self) -> float:
        return self.payload_bytes / self.usage.cpu_seconds / 1e6


class _Sums(Listener):
    def __init__(self) -> None:
        self.outcomes: list[RangeOutcome] = []

    def stored(self, outcomes: Sequence[RangeOutcome]) -> None:
        self.outcomes += outcomes


def measure(document: Mapping[str, Any], warm_up: str, measured: str, others: Mapping[str, int]) -> Result:
    """Run a member on a manifest with two topics; measure the second one."""
    began = time.perf_counter()
    resource = manifest.parse(dict(document))
    if resource.spec.spark.has_executors:
        executors_here()
    fork_early(resource.spec.spark)
    sums, wake = _Sums(), threading.Event()
    revision = revision_of(resource, __version__, rules_of(resource))
    with assemble(resource, revision, Secrets(), wake=wake, listener=sums) as assembly:
        assembly.group.start()
        _join(assembly)
        start_seconds, start_cpu = time.perf_counter() - began, cpu_seconds()
        _work_off(assembly, wake, warm_up)
        warm_up_cpu = sum(cpu_seconds().values()) - sum(start_cpu.values())
        sums.outcomes.clear()
        started = time.perf_counter()
        with watched(others=others) as usage:
            _work_off(assembly, wake, measured)
        seconds = time.perf_counter() - started
    return Result(
        records=sum(outcome.records for outcome in sums.outcomes),
        payload_bytes=sum(outcome.payload_bytes for outcome in sums.outcomes),
        stored_bytes=sum(outcome.bytes for outcome in sums.outcomes),
        objects=sum(len(outcome.objects) for outcome in sums.outcomes),
        seconds=seconds,
        usage=usage,
        start_seconds=start_seconds,
        start_cpu=start_cpu,
        warm_up_cpu=warm_up_cpu,
    )


def _join(assembly: Assembly) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not assembly.group.joined:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in the group after {DEADLINE_SECONDS:g} s")
        time.sleep(0.02)


def _work_off(assembly: Assembly, wake: threading.Event, topic: str) -> None:
    """Turn the cycle until everything in a topic is stored, as a member does: when a job has ended, or it is time."""
    targets = _ends(assembly, topic)
    cycle = assembly.cycle
    cycle.targets = targets
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        wake.clear()
        cycle.turn()
        at_rest = assembly.group.joined and not cycle.execution.jobs_in_flight
        if at_rest and not behind(targets, cycle.states, assembly.group.register):
            return
        wake.wait(cycle.seconds_to_next())
    raise TimeoutError(f"{topic} is not stored after {DEADLINE_SECONDS:g} s")


def _ends(assembly: Assembly, topic: str) -> dict[TopicPartition, Offset]:
    described = assembly.offsets.describe([topic])[topic]
    return assembly.offsets.ends([TopicPartition(topic, partition) for partition in described.leaders]).values


def main() -> None:
    """Read ``{"document", "warm_up", "measured", "others"}`` as JSON from standard input; print the result as JSON."""
    json.dump(asdict(measure(**json.load(sys.stdin))), sys.stdout)


if __name__ == "__main__":
    main()
