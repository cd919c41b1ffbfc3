"""``make bench ARGS=operator``: what many resources cost the operator and the API server.

A real API server, a real broker, and the operator with its default settings. There is no node: StatefulSets are called
ready, and members are simulated: each has a pod and answers the operator. Measured: the time until all resources are
reconciled; then requests by verb and kind (from the API server's audit log), writes of statuses, CPU and memory of
the operator, first with nothing happening, then while all members store and all lags change each second; and what the
operator does when it is started again.
"""

import argparse
import copy
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import yaml

from bench import machine
from bench.simulated_members import make_pod, members
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.installed.audit import Audit
from tests.integration.kubernetes.operator_process import OperatorProcess
from tests.stack.kafka import KafkaBroker
from tests.stack.kubernetes import ApiServer, Client
from tests.stack.topics import create_topic, produce

NAMESPACE = "bench"
TOPIC = "clicks"
RECORDS = 10
"""That wait in each partition, more or less: the operator remembers where a partition is that is behind."""
USER = "admin"
"""Who the operator is here; whoever measures is it too, and keeps silent while requests are counted."""
DONE = 'logpersister_operator_reconciles_total{outcome="done"}'
WRITES = "logpersister_operator_status_writes_total"
CRD_FILE = Path(__file__).parents[1] / "crds" / "logpersisters.yaml"
_CORE, _APPS = "/api/v1", "/apis/apps/v1"
_RESOURCES = f"/apis/logpersister.dev/v1alpha1/namespaces/{NAMESPACE}/logpersisters"
_SETS = f"{_APPS}/namespaces/{NAMESPACE}/statefulsets"
_PATIENCE = 900.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure once and print what was found."""
    parser = argparse.ArgumentParser(prog="python -m bench operator", description=__doc__)
    parser.add_argument("--resources", type=int, default=500)
    parser.add_argument(
        "--partitions", type=int, default=10, help="of the topic; 200 make 100,000 partitions of 500 groups"
    )
    parser.add_argument(
        "--rest-seconds", type=float, default=180.0, help="how long requests are counted, at rest and under change"
    )
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logpersister-bench-")))
        audit = Audit(folder)
        server = stack.enter_context(ApiServer(folder / "kubernetes", flags=audit.flags))
        kafka = stack.enter_context(KafkaBroker(folder / "kafka"))
        api = stack.enter_context(server.client())
        create_topic(kafka.bootstrap, TOPIC, partitions=options.partitions)
        produce(kafka.bootstrap, TOPIC, [b"record"] * options.partitions * RECORDS)
        simulated = stack.enter_context(members(kafka.bootstrap, TOPIC))
        prepare(api)
        operator = stack.enter_context(
            OperatorProcess(  # with its default settings, which tests make shorter
                server, folder, NAMESPACE, LAG_SECONDS="30", REPORT_SECONDS="15", SECRET_SECONDS="60"
            )
        )
        eventually("the operator lives", lambda: operator.healthz() == 200, explain=operator.tail)
        tell("without resources", operator)
        reconcile(api, kafka.bootstrap, operator, options.resources)
        settle(operator)
        count("at rest", audit, operator, options.rest_seconds)
        with simulated:
            count("under change", audit, operator, options.rest_seconds)
        settle(operator)
        restart(operator, options.resources)


def prepare(api: Client) -> None:
    """Make the definition, a namespace, and a Secret for all resources."""
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", yaml.safe_load(CRD_FILE.read_text()))
    eventually("LogPersisters are served", lambda: "logpersister.dev" in str(api.get("/apis")))
    api.create(f"{_CORE}/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s3"}, "data": {}}
    api.create(f"{_CORE}/namespaces/{NAMESPACE}/secrets", secret)


def reconcile(api: Client, bootstrap: str, operator: OperatorProcess, resources: int) -> None:
    """Apply all resources, and wait until each is ready and its lag is known."""
    document: dict[str, Any] = {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {},
        "spec": {
            "kafka": {"bootstrapServers": bootstrap, "topics": [TOPIC]},
            "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1", "secretName": "s3"},
        },
    }
    began = time.perf_counter()
    for number in range(resources):
        one = copy.deepcopy(document) | {"metadata": {"name": f"group-{number:03}"}}
        api.apply(f"{_RESOURCES}/group-{number:03}", one)
    applied = time.perf_counter()
    eventually(
        "StatefulSets", lambda: len(api.get(_SETS)["items"]) == resources, seconds=_PATIENCE, explain=operator.tail
    )
    made = time.perf_counter()
    for found in api.get(_SETS)["items"]:
        make_pod(api, found)
        call_ready(api, found)
    called = time.perf_counter()

    def told() -> bool:
        return sum(is_settled(one) for one in api.get(_RESOURCES)["items"]) == resources

    eventually("all statuses", told, seconds=_PATIENCE, explain=operator.tail)
    ready = time.perf_counter()
    print(
        f"{resources} resources: applied in {applied - began:.1f} s; all StatefulSets there {made - applied:.1f} s "
        f"after the last apply; all statuses Ready and with lag {ready - called:.1f} s after the last member was ready",
        flush=True,
    )


def call_ready(api: Client, found: dict[str, Any]) -> None:
    """Do what the controller of StatefulSets does when all pods are ready."""
    name, replicas = found["metadata"]["name"], found["spec"]["replicas"]
    status = {"replicas": replicas, "readyReplicas": replicas, "observedGeneration": found["metadata"]["generation"]}
    document = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name}, "status": status}
    api.apply(f"{_SETS}/{name}/status", document, manager="statefulset-controller")


def is_settled(resource: dict[str, Any]) -> bool:
    """Whether a status says all that there is to say."""
    status = resource.get("status") or {}
    states = {one["type"]: one["status"] for one in status.get("conditions", [])}
    return states.get("Ready") == states.get("LagWithinTarget") == "True"


def settle(operator: OperatorProcess) -> None:
    """Wait until no status has been written for a while."""
    written, since = metrics(operator)[WRITES], time.monotonic()

    def quiet() -> bool:
        nonlocal written, since
        now = metrics(operator)[WRITES]
        if now != written:
            written, since = now, time.monotonic()
        return time.monotonic() - since > 30

    eventually("rest", quiet, seconds=_PATIENCE, explain=operator.tail)


def metrics(operator: OperatorProcess) -> dict[str, float]:
    """Return the operator's metrics: on a machine that has much to do it may not answer within seconds."""
    while WRITES not in (found := operator.metrics()):
        assert operator.code is None, operator.tail()
    return found


def count(when: str, audit: Audit, operator: OperatorProcess, seconds: float) -> None:
    """Count what is asked and written for a while."""
    process = psutil.Process(operator.pid)
    before, cpu, first = len(list(audit.requests(USER))), process.cpu_times(), metrics(operator)
    time.sleep(seconds)
    after, spent = metrics(operator), process.cpu_times()
    names = Counter((one.right[2], one.right[1]) for one in list(audit.requests(USER))[before:])
    minutes = seconds / 60
    print(f"{when}, for {seconds:.0f} s; per minute:")
    for (verb, kind), found in sorted(names.items(), key=lambda item: -item[1]):
        print(f"  {verb:6} {kind:28} {found / minutes:7.1f}")
    print(f"  requests {sum(names.values()) / minutes:.1f}, rounds {(after[DONE] - first[DONE]) / minutes:.1f}")
    print(f"  writes of statuses, in all: {after[WRITES] - first[WRITES]:.0f}")
    cpu_seconds = spent.user + spent.system - cpu.user - cpu.system
    print(f"  CPU of the operator: {cpu_seconds:.1f} s, {cpu_seconds / seconds:.1%} of a core")
    tell(when, operator)


def restart(operator: OperatorProcess, resources: int) -> None:
    """Start the operator anew, and see what it writes."""
    operator.stop()
    began = time.perf_counter()
    operator.start()
    eventually(
        "a round about each",
        lambda: operator.metrics().get(DONE, 0) >= resources,
        seconds=_PATIENCE,
        explain=operator.tail,
    )
    print(f"started again: as many rounds as resources after {time.perf_counter() - began:.1f} s", flush=True)
    settle(operator)
    print(f"  writes of statuses, in all: {metrics(operator)[WRITES]:.0f}")


def tell(when: str, operator: OperatorProcess) -> None:
    """Print the memory of the operator, and the most that it had since it started."""
    process = psutil.Process(operator.pid)
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{operator.pid}/status").read_text())[1])  # type: ignore[index]
    memory = f"{process.memory_info().rss / 2**20:.0f} MiB, at most {peak / 2**10:.0f} MiB"
    spent = sum(process.cpu_times()[:2])
    print(f"memory {when}: {memory}; {process.num_threads()} threads; CPU since its start {spent:.1f} s", flush=True)
