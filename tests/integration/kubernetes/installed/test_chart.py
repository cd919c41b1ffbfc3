"""The chart on a real API server: installed, upgraded from an earlier version, uninstalled, installed again."""

import concurrent.futures
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.chart.helm import CHART, HelmError
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.installed.installation import DEFINITION, NAME, Installation, play_job, run_program
from tests.stack.kubernetes import Client

FINALIZER = "logpersister.dev/drain"
SPEC: dict[str, Any] = {
    "kafka": {"bootstrapServers": "broker:9092", "topics": ["clicks"]},
    "storage": {"bucket": "logs", "prefix": "raw"},
}


def create_resource(installation: Installation, namespace: str | None = None) -> str:
    """Make a resource that an operator has taken in; return its path."""
    where = namespace or installation.namespace
    path = f"/apis/logpersister.dev/v1alpha1/namespaces/{where}/logpersisters/clicks"
    metadata = {"name": "clicks", "namespace": where, "finalizers": [FINALIZER, "example.org/other"]}
    document = {"apiVersion": "logpersister.dev/v1alpha1", "kind": "LogPersister", "metadata": metadata, "spec": SPEC}
    installation.wait_for_definition()
    installation.api.apply(path, document)
    return path


def forget_other_finalizer(installation: Installation, path: str) -> None:
    change: dict[str, Any] = {"metadata": {"finalizers": []}}
    installation.api.request("PATCH", path, change, content_type="application/merge-patch+json")


def uninstall(installation: Installation) -> None:
    """Uninstall as helm does, hooks and all."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        uninstalling = pool.submit(installation.helm, "uninstall", NAME, "--timeout=5m")
        done = play_job(installation, f"{NAME}-release")
        assert done.returncode == 0, done.stderr
        uninstalling.result()


def test_uninstalling_leaves_resources_without_our_finalizer_and_installing_again_goes_on(
    installation: Installation,
) -> None:
    notes = installation.install()
    assert "kubectl get logpersisters --all-namespaces --watch" in notes
    assert "No registry is set" in notes
    path = create_resource(installation)

    uninstall(installation)
    assert installation.deployment() is None
    found = installation.get(path)
    assert found is not None, "the definition is kept, and resources with it"
    assert found["metadata"]["finalizers"] == ["example.org/other"]
    left = installation.api.get(f"/api/v1/namespaces/{installation.namespace}/serviceaccounts")["items"]
    assert left == [], "the hook's account exists only while it runs"

    installation.install({"crds": {"keep": False}})
    forget_other_finalizer(installation, path)
    installation.helm("uninstall", NAME, "--no-hooks")  # of which nothing is left to do
    eventually("the definition goes with the release", lambda: installation.get(DEFINITION) is None)


def test_upgrading_from_an_earlier_version(installation: Installation, tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    shutil.copytree(CHART, earlier)
    edit(earlier / "Chart.yaml", "ersion: 0.1.0", "ersion: 0.0.9")
    edit(earlier / "templates" / "crd.yaml", "One consumer group's copy of Kafka topics in a bucket.", "Of old.")
    edit(
        earlier / "templates" / "_helpers.tpl", "verbs: [get, list, watch, patch]", "verbs: [get, list, watch, update]"
    )
    (earlier / "templates" / "gone.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-old}\n")
    installation.install(chart=earlier)
    assert description(installation) == "Of old."
    assert installation.get(f"/api/v1/namespaces/{installation.namespace}/configmaps/of-old")
    path = create_resource(installation)

    installation.upgrade({"settings": {"lagSeconds": 5}})
    assert description(installation) == "One consumer group's copy of Kafka topics in a bucket."
    assert installation.get(f"/api/v1/namespaces/{installation.namespace}/configmaps/of-old") is None
    assert installation.settings()["LAG_SECONDS"] == "5"
    assert installation.settings()["IMAGE"] == "logpersister:0.1.0"
    found = installation.get(path)
    assert found is not None
    assert found["spec"] == SPEC
    forget_other_finalizer(installation, path)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def description(installation: Installation) -> str:
    found = installation.get(DEFINITION)
    assert found is not None
    text: str = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"]
    return text


def test_a_release_for_some_namespaces_lets_go_of_resources_there_and_nowhere_else(
    installation: Installation, api: Client
) -> None:
    ours, theirs = (f"{installation.namespace}-{name}" for name in ("ours", "theirs"))
    for name in (ours, theirs):
        api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    installation.install({"namespaces": [ours]})
    in_ours, in_theirs = create_resource(installation, ours), create_resource(installation, theirs)
    uninstall(installation)
    kept = [(installation.get(path) or {})["metadata"]["finalizers"] for path in (in_ours, in_theirs)]
    assert kept == [["example.org/other"], [FINALIZER, "example.org/other"]]
    for path in (in_ours, in_theirs):
        forget_other_finalizer(installation, path)


def release_command(installation: Installation, seconds: float) -> list[str]:
    return [
        *("python", "-m", "logpersister_operator.release", f"--namespace={installation.namespace}"),
        *(f"--deployment={NAME}-operator", "--selector=app=operator", f"--seconds={seconds}"),
    ]


def test_letting_go_waits_until_the_operator_is_gone_and_gives_up_in_time(
    installation: Installation, api: Client
) -> None:
    installation.install()
    path = create_resource(installation)
    pods = f"/api/v1/namespaces/{installation.namespace}/pods"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    api.apply(f"/api/v1/namespaces/{installation.namespace}/serviceaccounts/default", account)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "operator-0", "labels": {"app": "operator"}},
        "spec": {"containers": [{"name": "operator", "image": "any"}]},
    }
    api.create(pods, pod)
    done = run_program(release_command(installation, 2), installation.server.kubeconfig)
    assert done.returncode == 1
    assert "not within 2 s: the operator's pods are still there" in done.stderr
    assert "kubectl patch KIND NAME" in done.stderr, "what to do by hand"
    deployment = installation.deployment()
    assert deployment is not None
    assert deployment["spec"]["replicas"] == 0
    assert FINALIZER in (installation.get(path) or {})["metadata"]["finalizers"], "it could come back"

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(run_program, release_command(installation, 60), installation.server.kubeconfig)
        with pytest.raises(concurrent.futures.TimeoutError):
            running.result(timeout=2)
        api.delete(f"{pods}/operator-0", gracePeriodSeconds="0")
        assert running.result().returncode == 0
    assert (installation.get(path) or {})["metadata"]["finalizers"] == ["example.org/other"]
    forget_other_finalizer(installation, path)


def test_an_uninstallation_that_cannot_let_go_says_so_and_can_be_repeated(installation: Installation) -> None:
    installation.install()
    path = create_resource(installation)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        uninstalling = pool.submit(installation.helm, "uninstall", NAME, "--timeout=5m")
        roles = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{installation.namespace}-{NAME}-release"
        eventually("the hook's role", lambda: installation.get(roles))
        installation.api.delete(roles)  # somebody does not let it
        done = play_job(installation, f"{NAME}-release", "--seconds=3")
        assert done.returncode == 1
        assert re.search(r"still resources with our finalizer: \w+ /apis/logpersister\.dev\S+: .+ \(403\)", done.stderr)
        with pytest.raises(HelmError):
            uninstalling.result()
    uninstall(installation)
    assert (installation.get(path) or {})["metadata"]["finalizers"] == ["example.org/other"]
    forget_other_finalizer(installation, path)
