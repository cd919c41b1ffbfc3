"""``make bench ARGS=service``: how long partitions stand still while members are replaced, scaled and restarted.

On the node of the cluster tests (as root; `make test-cluster` and its KUBECONFIG tell more), with the images built last
(`make image`). Three members store a topic while a producer writes to all of its partitions; committed offsets are
looked at ten times a second. In each round

- rest: nothing happens;
- roll: another revision, a canary first;
- scale: three members become one, and three again;
- restart: the pod of one member is deleted.

Told is the longest time without a commit of the group, and of any partition; the most records that wait; and how long
the scene took. All members, Kafka, S3, operator and node share the machine's cores.
"""

import argparse
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bench import machine
from bench.servers import Servers, manifest, servers
from bench.spread import Spread
from tests.cluster.conftest import SMALL_MEMBER, install, make_namespace
from tests.cluster.environment import HOST, PATIENCE_SECONDS, started_by_us
from tests.cluster.persister import Persister
from tests.cluster.preparation import run_on_cluster
from tests.cluster.service import Service
from tests.integration.harness.workload import Workload
from tests.stack.topics import create_topic

TOPIC = "service"
PARTITIONS = range(6)
MEMBERS = 3
_REST_COMMITS = 5
_SPEC = {
    "members": MEMBERS,
    "upload": {"maxAge": "3s"},
    "cycleInterval": "500ms",
    "shutdownGrace": "5s",
    "podTemplate": SMALL_MEMBER,
    "rollout": {"canary": {"analysis": {"duration": "10s", "minRanges": 1}}},
}


@dataclass(frozen=True, slots=True)
class Seen:
    """What one scene showed."""

    group: float
    partition: float
    lag: int
    seconds: float


def rest(_: Persister, service: Service, __: int) -> None:
    """Let some commits pass."""
    for _number in range(_REST_COMMITS):
        service.wait_moved()


def roll(persister: Persister, _: Service, number: int) -> None:
    """Replace all members by those of another revision."""
    persister.apply(cycleInterval=f"{501 + number}ms")
    wait_for(persister, "observedGeneration", persister.metadata()["generation"])
    wait_for(persister, "rollout.phase", "Steady")
    wait_shared(persister, MEMBERS)


def scale(persister: Persister, _: Service, __: int) -> None:
    """Take all members but one away, and bring them back when it has all partitions."""
    for members in (1, MEMBERS):
        persister.apply(members=members)
        wait_shared(persister, members)


def restart(persister: Persister, _: Service, number: int) -> None:
    """Delete the pod of one member and wait for the next one of its name."""
    pod = sorted(persister.pods())[number % MEMBERS]
    persister.kubectl.delete("pod", pod)
    persister.kubectl("wait", f"pod/{pod}", "--for=create", "--timeout=600s")
    persister.kubectl("wait", f"pod/{pod}", "--for=condition=Ready", "--timeout=600s")


SCENES: Mapping[str, Callable[[Persister, Service, int], None]] = {
    "rest": rest,
    "roll": roll,
    "scale": scale,
    "restart": restart,
}
"""In the order in which they are played."""


def wait_for(persister: Persister, field: str, value: object) -> None:
    """Wait for a field of the status, without asking all the time."""
    expression = f"--for=jsonpath={{.status.{field}}}={value}"
    persister.kubectl("wait", f"logpersister/{persister.name}", expression, f"--timeout={PATIENCE_SECONDS:.0f}s")


def wait_shared(persister: Persister, members: int) -> None:
    """Wait until so many members are ready and have equal shares."""
    wait_for(persister, "members.ready", members)
    for bound in ("fewestPartitions", "mostPartitions"):
        wait_for(persister, f"rebalance.{bound}", len(PARTITIONS) // members)


def measure(persister: Persister, running: Servers, rounds: int) -> dict[str, list[Seen]]:
    """Play all scenes in turn, so many times; return what each of them showed."""
    found: dict[str, list[Seen]] = {name: [] for name in SCENES}
    for number in range(rounds):
        for name, scene in SCENES.items():
            began = time.monotonic()
            with Service(running.kafka.bootstrap, persister.name, TOPIC) as service:
                service.wait_moved()
                scene(persister, service, number)
                seconds = time.monotonic() - began
                service.wait_moved()
            seen = Seen(service.gap, service.longest, service.lag, seconds)
            found[name].append(seen)
            print(f"round {number + 1}: {name:8} {seen}", flush=True)
    return found


@contextmanager
def resource(running: Servers, name: str) -> Iterator[Persister]:
    """Apply a resource in a namespace of its own, for the time of the block."""
    create_topic(running.kafka.bootstrap, TOPIC, partitions=len(PARTITIONS))
    kubectl = make_namespace(name, running.minio.secret_key)
    spec = manifest(running, name, [TOPIC], **_SPEC)["spec"]
    persister = Persister(kubectl, name, spec, TOPIC, running.folder)
    try:
        persister.apply()
        yield persister
    finally:
        persister.delete()
        persister.group.close()
        kubectl("delete", "namespace", name, "--wait=false")


def run(rounds: int, per_second: float) -> None:
    """Measure on the cluster and print the spread."""
    install()
    name = f"bench-{secrets.token_hex(3)}"
    with servers(os.environ[HOST]) as running, resource(running, name) as persister:
        workload = Workload(running.kafka.bootstrap)
        with workload.running(TOPIC, PARTITIONS, per_second=per_second):
            wait_shared(persister, MEMBERS)
            print(machine.describe(), flush=True)
            found = measure(persister, running, rounds)
    print("| | group, s | partition, s | records waiting | scene, s |\n|---|---|---|---|---|")
    for scene, seen in found.items():
        print(
            f"| {scene} | {Spread.of(one.group for one in seen).text(1)} "
            f"| {Spread.of(one.partition for one in seen).text(1)} "
            f"| {Spread.of(one.lag for one in seen).text()} | {Spread.of(one.seconds for one in seen).text()} |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on the node, which is started unless it runs."""
    parser = argparse.ArgumentParser(prog="python -m bench service", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--per-second", type=float, default=50.0, help="records to each partition")
    options = parser.parse_args(arguments)
    if started_by_us():
        run(options.rounds, options.per_second)
    else:
        again = ["--rounds", str(options.rounds), "--per-second", str(options.per_second)]
        sys.exit(run_on_cluster([sys.executable, "-m", "bench", "service", *again]))
