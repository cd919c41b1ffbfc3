"""etcd comes back with what a backup has: versions go down, and what was known is of a future that did not happen."""

from pathlib import Path

from tests.integration.kubernetes.conftest import install_definition
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.test_operator import spec
from tests.stack.kubernetes import ApiServer

NAMESPACE = "restored"


def test_the_operator_goes_on_from_the_backup(tmp_path: Path) -> None:
    with ApiServer(tmp_path / "kubernetes") as server, server.client() as api:
        kubeconfig = server.kubeconfig.read_text()
        install_definition(api)
        api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        with OperatorProcess(server, tmp_path, NAMESPACE, LEASE_SECONDS="300") as operator:
            resource = Resource(api, NAMESPACE, "clicks", operator.tail)
            resource.apply(spec(members=1))
            (name,) = resource.wait_stateful_sets(1)
            server.etcd.back_up(tmp_path / "backup")
            for members in (2, 3):
                resource.apply(spec(members=members))
                wait_members(resource, members)

            server.kill()
            server.etcd.restore(tmp_path / "backup")
            server.start()
            assert server.kubeconfig.read_text() == kubeconfig
            assert resource.stateful_sets()[name]["spec"]["replicas"] == 1
            resource.apply(spec(members=2))
            wait_members(resource, 2)
            resource.get_ready(name)
            resource.wait("Ready", "True", "MembersReady")
            assert operator.events("etcd.restored")
            assert operator.code is None, "it begins anew by itself"


def wait_members(resource: Resource, count: int) -> None:
    def there() -> bool:
        return [one["spec"]["replicas"] for one in resource.stateful_sets().values()] == [count]

    resource.eventually(f"{count} members", there)
