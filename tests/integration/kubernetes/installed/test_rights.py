"""The operator under its own account, with exactly the rights of the chart, on an API server that writes down all."""

import concurrent.futures
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from logpersister_operator.cluster.client import ApiServer as Cluster
from logpersister_operator.cluster.connection import ClusterError
from logpersister_operator.collectors.decide import decide as decide_collector
from tests.chart.rights import Right, rights
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.conftest import CRD_FILE, install_definition
from tests.integration.kubernetes.installed.audit import Audit
from tests.integration.kubernetes.installed.installation import DEFINITION, NAME, RBAC, Installation, play_job
from tests.integration.kubernetes.jobs import JOBS, Replay, end, job_of
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource, connect
from tests.integration.kubernetes.test_collectors import SPEC as FEEDS
from tests.integration.kubernetes.test_collectors import Collector
from tests.stack.kubernetes import Client
from tests.stack.kubernetes.client import Document
from tests.unit.collectors.samples import collector as collector_sample
from tests.unit.collectors.samples import state as collector_state
from tests.unit.kubernetes.samples import Life
from tests.unit.kubernetes.samples import resource as sample
from tests.unit.replays.life import ReplayLife

ACCOUNT = f"{NAME}-operator"
SMALL: dict[str, Any] = {
    "kafka": {"bootstrapServers": "127.0.0.1:1", "topics": ["clicks"]},
    "storage": {"bucket": "logs", "prefix": "raw", "secretName": "s3"},
}
LARGE: dict[str, Any] = SMALL | {"networkPolicy": "Restricted", "spark": {"executors": 1}}
_UNWATCHED = {"rollout": {"canary": {"analysis": {"duration": "0s", "minRanges": 0}}}}
_QUICK = {"LAG_SECONDS": "1", "REPORT_SECONDS": "1", "SECRET_SECONDS": "2"}


def make_namespace(api: Client, name: str) -> str:
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    metadata = {"name": "s3", "namespace": name}
    api.create(f"/api/v1/namespaces/{name}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": metadata})
    return name


def start_operator(installation: Installation) -> OperatorProcess:
    """Return the operator as the Deployment describes it, under its account, with shorter pauses."""
    found = installation.settings() | _QUICK
    return OperatorProcess(
        installation.server,
        installation.directory,
        installation.namespace,
        kubeconfig=installation.kubeconfig(ACCOUNT),
        **found,
    )


def live(api: Client, resource: Resource) -> None:
    """Everything that makes the operator make, change and delete objects of all kinds."""
    resource.apply(LARGE)
    (first,) = resource.wait_stateful_sets(1)
    leave_something_behind(api, resource)
    resource.get_ready(first)
    resource.wait("Ready", "True", "MembersReady")
    resource.apply(SMALL | _UNWATCHED)  # another revision, with no executors and no policy
    both = resource.wait_stateful_sets(2)
    (second,) = both.keys() - {first}
    resource.get_ready(second)
    resource.wait_stateful_sets(1)
    resource.eventually("no role", lambda: not resource.children("apis/rbac.authorization.k8s.io/v1", "roles"))
    resource.wait("Ready", "True", "MembersReady")
    collector = Collector(api, resource.namespace, "prices", lambda: str(resource.status()))
    collector.apply(FEEDS)
    collector.wait_stateful_sets(1)
    collector.delete()
    collector.eventually("it goes, finalizer and all", lambda: collector.get() is None)
    live_again(api, Replay(api, resource.namespace, "again", lambda: str(resource.status())))
    resource.delete()
    resource.eventually("it goes, finalizer and all", lambda: resource.get() is None)


def live_again(api: Client, replay: Replay) -> None:
    """Everything that makes the operator make, change and delete objects of a replay."""
    spec = {"resource": "clicks", "generation": 2}
    replay.apply(spec)
    job = job_of(replay, replay.name)
    replay.apply(spec | {"processes": 2})
    replay.eventually("more processes", lambda: job_of(replay, replay.name)["spec"]["parallelism"] == 2)
    end(api, job, fails=True)
    replay.wait("Stalled", "True", "ReplayFailed")
    replay.apply(spec | {"suspend": True})
    replay.eventually("the Job goes", lambda: not replay.children(JOBS, "jobs"))
    replay.delete()
    replay.eventually("it goes, finalizer and all", lambda: replay.get() is None)


def leave_something_behind(api: Client, resource: Resource) -> None:
    """Make objects that an earlier version might have made for the resource, and that nothing needs."""
    namespace, found = resource.namespace, resource.get() or {}
    owner = {name: found[name] for name in ("apiVersion", "kind")} | {
        name: found["metadata"][name] for name in ("name", "uid")
    }
    labels = {"logpersister.dev/resource": resource.name, "app.kubernetes.io/managed-by": "logpersister-operator"}
    metadata = {"name": "of-old", "namespace": namespace, "labels": labels, "ownerReferences": [owner]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": {}}
    api.create(f"/api/v1/namespaces/{namespace}/services", service)
    api.create(f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets", budget)


def test_it_needs_all_of_its_rights_and_no_others(
    installation: Installation, api: Client, audit: Audit, unique: str
) -> None:
    installation.install({"crds": {"keep": False}})
    installation.wait_for_definition()
    where = make_namespace(api, f"{unique}-logs")
    with start_operator(installation) as operator:
        live(api, Resource(api, where, "clicks", operator.tail))
        assert operator.stop() == 0

    user = installation.user(ACCOUNT)
    asked = list(audit.requests(user))
    assert [one for one in asked if one.forbidden] == []
    role = api.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{installation.namespace}-{ACCOUNT}")
    granted = set(rights(role["rules"]))
    used = {one.right for one in asked if one.namespace != installation.namespace}
    assert used <= granted
    # What no request shows is asked for by the API server itself: to create what is applied, to grant what one holds,
    # to own with blockOwnerDeletion. Events are listed of objects that wait.
    unseen = sorted(granted - used)
    verbs = {verb for _, resource, verb in unseen if resource != "events"}
    assert verbs <= {"create", "update", "get", "patch", "delete", "deletecollection"}
    cluster = Cluster(connect(installation.kubeconfig(ACCOUNT)))
    try_all(cluster, where, "with-all-rights")
    for number, right in enumerate(unseen):
        needs(api, role, right, cluster, where, f"without-{number}")
    installation.helm("uninstall", NAME, "--no-hooks")


def try_all(cluster: Cluster, namespace: str, name: str) -> None:
    """Apply one object of each kind, under the operator's account; raises ClusterError."""
    document = sample(**LARGE)
    document["metadata"] |= {"name": name, "namespace": namespace}
    for child in Life(document).step().apply:
        cluster.apply(child)
    feeds, again = collector_sample(), ReplayLife()
    for one in (feeds, again.document):
        one["metadata"] |= {"name": name, "namespace": namespace}
    for child in (*decide_collector(collector_state(feeds)).apply, *again.step().apply):
        cluster.apply(child)
    cluster.events(namespace, document["metadata"].get("uid", "none"))


def needs(api: Client, role: Document, right: Right, cluster: Cluster, namespace: str, name: str) -> None:
    """Check that the operator is refused something when it has all rights but one."""
    path = f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{role['metadata']['name']}"
    less = {**copy.deepcopy(role), "rules": list(without(role["rules"], right))}
    del less["metadata"]["resourceVersion"]
    api.replace(path, less)
    attempts = iter(range(1000))

    def refused() -> bool:
        try:
            try_all(cluster, namespace, f"{name}-{next(attempts)}")
        except ClusterError as error:
            return error.status == 403
        return False

    try:
        eventually(f"{right} is needed", refused)  # the API server learns of changed roles in a moment
    finally:
        whole = copy.deepcopy(role)
        del whole["metadata"]["resourceVersion"]
        api.replace(path, whole)


def without(rules: Sequence[Document], right: Right) -> Iterator[Document]:
    """Yield rules that say the same, each about one kind, but for one right."""
    for rule in rules:
        for group in rule["apiGroups"]:
            for kind in rule["resources"]:
                verbs = [verb for verb in rule["verbs"] if (group, kind, verb) != right]
                if verbs:
                    yield {"apiGroups": [group], "resources": [kind], "verbs": verbs}


def test_in_some_namespaces_it_never_looks_at_others_and_without_executors_it_needs_no_more_rights(
    installation: Installation, api: Client, audit: Audit, unique: str
) -> None:
    ours, theirs = (make_namespace(api, f"{unique}-{name}") for name in ("ours", "theirs"))
    installation.install(
        {"namespaces": [ours], "replicas": 2, "crds": {"keep": False}, "executors": {"enabled": False}}
    )
    installation.wait_for_definition()
    with start_operator(installation) as operator:
        Resource(api, theirs, "clicks", operator.tail).apply(SMALL)
        resource = Resource(api, ours, "clicks", operator.tail)
        resource.apply(LARGE)
        assert "executors.enabled" in resource.wait("SpecValid", "False", "SpecInvalid")["message"]
        resource.apply(SMALL | {"networkPolicy": "Restricted"})
        resource.wait_stateful_sets(1)
        resource.delete()
        resource.eventually("it goes, finalizer and all", lambda: resource.get() is None)
        assert operator.events("leader.elected")
    asked = list(audit.requests(installation.user(ACCOUNT)))
    assert [one for one in asked if one.forbidden] == []
    assert {one.namespace for one in asked} == {ours, installation.namespace}
    assert {one.right for one in asked if one.namespace == installation.namespace} == {
        ("coordination.k8s.io", "leases", verb) for verb in ("create", "get", "update")
    }
    installation.helm("uninstall", NAME, "--no-hooks")


def test_without_what_further_kinds_need_logpersisters_go_on_and_they_are_looked_after_once_they_can_be(
    installation: Installation, api: Client, unique: str
) -> None:
    """The chart is upgraded without its CRDs, and with roles of one's own that are of the version before."""
    where = make_namespace(api, f"{unique}-logs")
    installation.install({"namespaces": [where], "crds": {"keep": False}})
    installation.wait_for_definition()
    path = f"{RBAC}/namespaces/{where}/roles/{ACCOUNT}"
    role = api.get(path)
    del role["metadata"]["resourceVersion"]
    of_replays = [right for right in rights(role["rules"]) if right[1].split("/")[0] in ("logreplays", "jobs")]
    rules = role["rules"]
    for right in of_replays:
        rules = list(without(rules, right))
    api.replace(path, {**role, "rules": rules})
    definition = DEFINITION.replace("logpersisters.", "feedcollectors.")
    api.delete(definition)
    eventually("no FeedCollector is known", lambda: installation.get(definition) is None)
    with start_operator(installation) as operator:
        resource = Resource(api, where, "clicks", operator.tail)
        resource.apply(SMALL)
        resource.wait_stateful_sets(1)
        eventually("it is ready", lambda: operator.readyz() == 200, explain=operator.tail)
        told = {one["kind"]: one["remedy"] for one in operator.events("kind.not_served")}
        assert told.keys() == {"FeedCollector", "LogReplay"}
        assert "crds/feedcollectors.yaml" in told["FeedCollector"]
        assert "docs/security.md" in told["LogReplay"]

        install_definition(api, CRD_FILE.with_name("feedcollectors.yaml"))
        api.replace(path, role)
        collector = Collector(api, where, "prices", operator.tail)
        collector.apply(FEEDS)
        collector.wait_stateful_sets(1)
        replay = Replay(api, where, "again", operator.tail)
        replay.apply({"resource": "clicks", "generation": 2})
        job_of(replay, "again")
        for one in (replay, collector, resource):
            one.delete()
        eventually("they go, finalizers and all", lambda: not any(one.get() for one in (replay, collector, resource)))
        assert operator.events("leader.elected") == operator.events("leader.elected")[:1], "it kept the Lease"
    installation.helm("uninstall", NAME, "--no-hooks")


def label(api: Client, namespace: str, team: str | None) -> None:
    """Give a namespace to a team, as ``kubectl label`` does, or to none."""
    change = {"metadata": {"labels": {"team": team}}}
    api.request("PATCH", f"/api/v1/namespaces/{namespace}", change, content_type="application/merge-patch+json")


def release(api: Client, namespace: str) -> None:
    """Let the resource of a namespace go, as a person does whose operator is gone."""
    path = f"/apis/logpersister.dev/v1alpha1/namespaces/{namespace}/logpersisters/clicks"
    change = {"metadata": {"finalizers": None}}
    api.request("PATCH", path, change, content_type="application/merge-patch+json")


def test_namespaces_come_and_go_by_their_labels(
    installation: Installation, api: Client, audit: Audit, unique: str
) -> None:
    stays, comes, leaves = (make_namespace(api, f"{unique}-{name}") for name in ("stays", "comes", "leaves"))
    for name in (stays, leaves):
        label(api, name, "web")
    installation.install({"namespaceSelector": "team=web", "crds": {"keep": False}})
    installation.wait_for_definition()
    with start_operator(installation) as operator:
        found = {name: Resource(api, name, "clicks", operator.tail) for name in (stays, comes, leaves)}
        for resource in found.values():
            resource.apply(SMALL)
        for name in (stays, leaves):
            found[name].wait_stateful_sets(1)
        assert not found[comes].stateful_sets()
        assert "finalizers" not in (found[comes].get() or {})["metadata"], "what is not selected is not touched"

        label(api, comes, "web")
        label(api, leaves, None)
        found[comes].wait_stateful_sets(1)
        for name in (leaves, stays):
            (made,) = found[name].stateful_sets()
            api.delete(f"/apis/apps/v1/namespaces/{name}/statefulsets/{made}")
        found[stays].wait_stateful_sets(1)
        assert not found[leaves].stateful_sets(), "nobody makes it again"
        assert operator.events("leader.elected") == operator.events("leader.elected")[:1], "it kept the Lease"
        assert operator.healthz() == 200
    forbidden = [one for one in audit.requests(installation.user(ACCOUNT)) if one.forbidden]
    assert forbidden == []
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        uninstalling = pool.submit(installation.helm, "uninstall", NAME, "--timeout=5m", "--cascade=orphan")
        assert play_job(installation, f"{NAME}-release").returncode == 0
        uninstalling.result()
    assert [("finalizers" in (one.get() or {"metadata": {}})["metadata"]) for one in found.values()] == [
        False,
        False,
        True,
    ], "only that of the namespace that is no longer selected"
    release(api, leaves)  # or the definition, which the next test makes anew, would never go
    eventually("the definition goes", lambda: installation.get(DEFINITION) is None)


def wait_made_again(api: Client, resource: Resource) -> None:
    """Delete the StatefulSet of a resource, and wait until the operator has made it again."""
    ((name, before),) = resource.wait_stateful_sets(1).items()
    api.delete(f"/apis/apps/v1/namespaces/{resource.namespace}/statefulsets/{name}")

    def made() -> bool:
        return {one["metadata"]["uid"] for one in resource.stateful_sets().values()} - {
            before["metadata"]["uid"]
        } != set()

    resource.eventually("it is made again", made)


def delete_namespace(api: Client, resource: Resource) -> None:
    """Delete a namespace as its controller does, which is not here: rights may be gone before the rest."""
    namespace = resource.namespace
    api.delete(f"/api/v1/namespaces/{namespace}")
    for kind in ("rolebindings", "roles"):
        api.delete(f"{RBAC}/namespaces/{namespace}/{kind}/{NAME}-operator")
    for name in resource.stateful_sets():
        api.delete(f"/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}")
    resource.delete()


def test_a_namespace_that_is_deleted_gets_free_and_the_others_go_on(
    installation: Installation, api: Client, unique: str
) -> None:
    stays, leaves, later = (make_namespace(api, f"{unique}-{name}") for name in ("stays", "leaves", "later"))
    installation.install(
        {"namespaces": [stays, leaves, later], "crds": {"keep": False}, "rbac": {"namespaceDeletion": True}}
    )
    installation.wait_for_definition()
    with start_operator(installation) as operator:
        first, second, third = (Resource(api, name, "clicks", operator.tail) for name in (stays, leaves, later))
        for resource in (first, second, third):
            resource.apply(SMALL)
            resource.wait_finalizer()
        first.wait_stateful_sets(1)
        eventually("everything is listed", lambda: operator.readyz() == 200, explain=operator.tail)
        told = [one for one in operator.metrics() if one.startswith("logpersister_operator_watch_age_seconds")]
        assert len(told) == 3 * 11
        delete_namespace(api, second)
        second.eventually("its finalizer comes off", lambda: second.get() is None)
        wait_made_again(api, first)
        assert operator.healthz() == operator.readyz() == 200

        # What begins with a namespace that is gone, or going, goes on, too.
        operator.kill()
        api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{installation.namespace}/leases/{ACCOUNT}")
        delete_namespace(api, third)
        binding = f"{RBAC}/namespaces/{stays}/rolebindings/{NAME}-operator"
        rights = api.get(binding)
        api.delete(binding)
        operator.start()
        eventually("it lives", lambda: operator.healthz() == 200, explain=operator.tail)
        eventually("it is refused", lambda: operator.events("watch.interrupted"), explain=operator.tail)
        assert operator.readyz() == 503, "so `helm --wait` fails"
        del rights["metadata"]["resourceVersion"], rights["metadata"]["uid"]
        api.create(f"{RBAC}/namespaces/{stays}/rolebindings", rights)
        eventually("it is ready", lambda: operator.readyz() == 200, explain=operator.tail)
        assert operator.metrics()[f'logpersister_operator_refused{{kind="Pod",resource_namespace="{later}"}}'] == 1
        third.eventually("its finalizer comes off", lambda: third.get() is None)
        wait_made_again(api, first)
        first.delete()
        first.eventually("it goes, finalizer and all", lambda: first.get() is None)
        assert operator.code is None
    installation.helm("uninstall", NAME, "--no-hooks")
