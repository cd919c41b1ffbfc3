"""``make demo ARGS=kubernetes``: the operator on a real node, and the life of two resources.

Node, images and chart are those of ``make test-cluster`` (docs/design/node.md). Everything is gone afterwards, also
after Ctrl-C; only images and compiled programs stay for the next run.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from examples import produce_clicks
from examples.steps import FailedError, Steps, short, wait_for_ctrl_c
from tests.cluster.conftest import RELEASE, SMALL_MEMBER, install, make_namespace, release
from tests.cluster.environment import HOST
from tests.cluster.kubectl import Kubectl, KubectlError
from tests.cluster.node import Node, NodeError
from tests.cluster.node.place import KUBECONFIG, NAMESPACE
from tests.cluster.persister import Persister
from tests.cluster.preparation import run_on_cluster
from tests.integration.harness.verification import run_verify
from tests.stack import KafkaBroker, S3Server, ServerError, processes, reaper, running
from tests.stack.artifacts import CACHE, ROOT, MissingArtifactError, go_program
from tests.stack.detached import S3_SERVERS

PLACE: Final = CACHE / "demo-kubernetes"
BUCKET: Final = "logs"
MEMBERS: Final = 2
"""Of the resource that gets new revisions."""
_LIVE_PER_SECOND = 50
_STOP_SECONDS = 30
_QUICK: Final = {
    "upload": {"maxBytes": "8Mi", "maxAge": "10s"},
    "rollout": {"canary": {"analysis": {"duration": "15s", "minRanges": 1}}},
    "podTemplate": SMALL_MEMBER,
}
"""Sections of both resources that let a reader wait for seconds where usual settings take minutes."""


class Story:
    """Two resources from the first ``kubectl apply`` to ``kubectl delete``, in one namespace of any cluster."""

    def __init__(self, steps: Steps, kubectl: Kubectl, kafka: KafkaBroker, s3: S3Server, place: Path) -> None:
        self._steps = steps
        self._kubectl = kubectl
        self._kafka = kafka
        self._s3 = s3
        self._place = place
        self._clicks = self._persister("clicks.yaml", members=MEMBERS)
        self._rows = self._persister("clicks-parquet.yaml")
        self._both = (self._clicks, self._rows)

    def play(self, records: int, *, keep: bool = False) -> None:
        """Tell all of it; the resources are gone in the end."""
        try:
            self._begin(records)
            self._show()
            with self._live_records():
                self._upgrade()
                self._withdraw()
                if keep:
                    self._stay()
            self._end()
        finally:
            for one in self._both:
                one.group.close()

    def _begin(self, records: int) -> None:
        with self._steps.step("write sample records") as result:
            client = self._s3.client()
            client.create_bucket(Bucket=BUCKET)
            client.close()
            produce_clicks.create_topics(self._kafka.bootstrap)
            events = list(produce_clicks.history(records, until=time.time_ns() // 1_000_000, days=2))
            produce_clicks.write(self._kafka.bootstrap, events)
            result.append(f"{records:,} clicks and orders of two days")
        with self._steps.step("kubectl apply") as result:
            for one in self._both:
                one.manifest()
                one.apply()
            names = " and ".join(f"{one.name}.yaml" for one in self._both)
            result.append(f"{short(self._place)}: {names}")
        with self._steps.step("kubectl wait --for=condition=Ready") as result:
            for one in self._both:
                one.wait("Ready", "True", "MembersReady")
            result.append(" and ".join(f"{len(one.pods())} of {one.name}" for one in self._both))
        with self._steps.step("until nothing waits in Kafka") as result:
            clicks = sum(event.topic == "clicks" for event in events)
            for one, count in ((self._clicks, records), (self._rows, clicks)):
                one.eventually("all is counted", lambda one=one, count=count: one.stored() == count)  # type: ignore[misc]
                one.eventually("no lag", lambda one=one: one.status()["lag"]["records"] == 0)  # type: ignore[misc]
            result.append(f"{records:,} and {clicks:,} records stored")

    def _show(self) -> None:
        self._steps.headline("What a user sees: kubectl get lp")
        self._print("get", "lp")
        self._steps.headline("What a resource becomes: kubectl get statefulsets,pods")
        self._print("get", "statefulsets,pods", "--selector", f"logpersister.dev/resource={self._clicks.name}")

    def _upgrade(self) -> None:
        clicks, before = self._clicks, self._clicks.status()["revision"]
        self._steps.headline("A new revision, zstd in place of gzip: one canary first, then all members")
        with self._steps.step("kubectl patch output") as result:
            clicks.apply(output=clicks.spec["output"] | {"text": {"compression": "zstd"}})
            clicks.eventually("its canary is watched", lambda: (clicks.status().get("rollout") or {}).get("trial"))
            result.append("the canary stores records beside the other members")
        self._print("get", "lp", clicks.name)
        with self._steps.step("until all members run it") as result:
            after = clicks.wait_steady(MEMBERS)
            if after == before:
                raise FailedError(f"{clicks.name} runs {before} as before")
            result.append(f"revision {after} in place of {before}")

    def _withdraw(self) -> None:
        clicks, members, storage = self._clicks, self._clicks.restarts(), self._clicks.spec["storage"]
        self._steps.headline("A bad revision: its bucket does not exist")
        with self._steps.step("kubectl patch storage.bucket") as result:
            clicks.apply(storage=storage | {"bucket": "no-such-bucket"})
            message = clicks.wait("Stalled", "True", "RolloutFailed")["message"]
            clicks.eventually("it is gone", lambda: clicks.restarts().keys() == members.keys())
            result.append("its canary is withdrawn")
        print(message.replace("; ", ";\n  "))
        self._print("get", "lp", clicks.name)
        with self._steps.step("kubectl patch it back") as result:
            clicks.apply(storage=storage)
            clicks.wait_steady(MEMBERS)
            if clicks.restarts() != members:
                raise FailedError(f"members of {clicks.name} were restarted: {clicks.restarts()}, before {members}")
            result.append("the members that stored all the time have not been restarted")

    def _end(self) -> None:
        self._steps.headline("The end: nothing is lost, nothing is twice, nothing is left")
        self._s3.write_secret(self._place / "secrets")
        for one in self._both:
            one.eventually("no lag", lambda one=one: one.status()["lag"]["records"] == 0)  # type: ignore[misc]
            with self._steps.step("logpersister verify --deep") as result:
                found = run_verify(one.manifest(), "--deep", f"--secrets-dir={self._place / 'secrets'}")
                records = sum(topic["records"] for topic in found["topics"])
                result.append(f"{one.name}: {records:,} records, each in exactly one object")
        with self._steps.step("kubectl delete lp --all") as result:
            self._kubectl("delete", "logpersisters", "--all")
            left = self._kubectl.list("statefulsets,pods")
            if left:
                raise FailedError(f"left: {', '.join(one['metadata']['name'] for one in left)}")
            result.append("no pod is left; objects and committed offsets stay")

    @contextmanager
    def _live_records(self) -> Iterator[None]:
        """Let clicks and orders come for the time of the block."""
        command = ["-m", produce_clicks.__name__, "--bootstrap", self._kafka.bootstrap, "--records=0"]
        process = subprocess.Popen(
            [sys.executable, *command, f"--live={_LIVE_PER_SECOND}"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        reaper.register(process.pid)
        try:
            yield
        finally:
            processes.stop(process, _STOP_SECONDS)
            reaper.forget(process.pid)

    def _stay(self) -> None:
        kubectl = f"{short(go_program('kubectl'))} --namespace {self._kubectl.namespace}"
        self._steps.headline("Look around")
        print(f"  nsenter --net={NAMESPACE} env KUBECONFIG={short(KUBECONFIG)} {kubectl} get lp")
        wait_for_ctrl_c()

    def _persister(self, example: str, **sections: Any) -> Persister:
        """Return a resource as an example has it, with the addresses of these servers."""
        document = yaml.safe_load((ROOT / "examples" / example).read_text())
        spec = document["spec"] | _QUICK | sections
        spec["kafka"]["bootstrapServers"], spec["storage"]["endpoint"] = self._kafka.bootstrap, self._s3.endpoint
        return Persister(self._kubectl, document["metadata"]["name"], spec, "clicks", self._place)

    def _print(self, *arguments: str) -> None:
        print(self._kubectl(*arguments), end="", flush=True)


def _tell(steps: Steps, place: Path, s3_server: type[S3Server], records: int, *, keep: bool) -> None:
    """Start servers, install the operator, tell the story and take all of it away."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    host = os.environ[HOST]
    kafka, s3 = KafkaBroker(place / "kafka", host=host), s3_server(place / s3_server.name, host=host)
    with ExitStack() as stack:
        with steps.step("start Kafka and S3") as result:
            stack.enter_context(running(kafka, s3))
            result += [f"Kafka {kafka.bootstrap}", f"S3 {s3.endpoint}"]
        with steps.step("helm install logpersister") as result:
            install()
            result.append("the operator is ready in namespace logpersister-system")
        Story(steps, make_namespace("data", s3.secret_key), kafka, s3, place).play(records, keep=keep)
        with steps.step("helm uninstall logpersister") as result:
            release("uninstall", RELEASE, "--wait")
            result.append("the CRD stays")
    steps.end("the node, Kafka and S3 are stopped")


def on_own_node(arguments: Sequence[str]) -> int:
    """Run the demo on the node of this working copy, which is stopped again unless it ran before; return 0, 1 or 130.

    A cluster that KUBECONFIG names is left alone.
    """
    os.environ.pop("KUBECONFIG", None)
    former = signal.signal(signal.SIGINT, lambda *_: None)  # the demo itself ends by it, and then we clean up
    try:
        node = Node()
        ran = node.runs
        try:
            return run_on_cluster([sys.executable, "-m", "examples.kubernetes_demo", *arguments])
        finally:
            if not ran:
                node.down()
    except (NodeError, MissingArtifactError) as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGINT, former)


def main() -> int:
    """Return 0, or 1 when a step failed, or 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="make demo ARGS=kubernetes", description="The operator on a node of its own.")
    parser.add_argument("--records", type=int, default=70_000, help="to write (default %(default)s)")
    parser.add_argument("--keep", action="store_true", help="wait for Ctrl-C before the resources are deleted")
    parser.add_argument("--directory", type=Path, default=PLACE, help="default .cache/demo-kubernetes")
    parser.add_argument("--s3", choices=list(S3_SERVERS), default=next(iter(S3_SERVERS)), help="default %(default)s")
    arguments = parser.parse_args()
    try:
        with processes.interrupted_by_sigterm():
            s3 = S3_SERVERS[arguments.s3]
            _tell(Steps(), arguments.directory, s3, arguments.records, keep=arguments.keep)
    except (FailedError, ServerError, MissingArtifactError, KubectlError, AssertionError) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; everything that was started is stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
