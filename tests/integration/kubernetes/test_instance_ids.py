"""Names of members in a real group: no other resource has the same, and a fleet with those of before is rolled over."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from logpersister.group.membership import Membership, MembershipSettings
from logpersister.kafka_client.admin import admin_client
from tests.integration.harness.earlier import PACKAGES, check_out, python_path
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack import KafkaBroker
from tests.stack.kubernetes import ApiServer, Client

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

BEFORE = "c3ea8cabf1a71a937bc71c7d57cbd4784cca7669"
"""A commit whose members are called after their pods only."""
PARTITIONS = 4
LONGER_THAN_THE_TEST = 1200.0
"""Seconds of a session, so that no name is forgotten by itself."""
VARIABLE = "LOGPERSISTER_INSTANCE_ID"


class Fleet:
    """The members of a resource: each pod has one in the group, called as the pod says."""

    def __init__(self, resource: Resource, kafka: dict[str, Any]) -> None:
        self._resource = resource
        self._kafka = kafka
        self.members: dict[str, Membership] = {}
        """By their name in the group."""

    def owned(self) -> dict[str, int]:
        """Let members begin and end as pods do; return how many partitions each has."""
        sets, pods = self._resource.stateful_sets(), self._resource.children("api/v1", "pods")
        wanted = {_name(pod, sets[owner]) for pod in pods if (owner := pod.rpartition("-")[0]) in sets}
        for name in self.members.keys() - wanted:
            self.members.pop(name).stop()
        for name in wanted - self.members.keys():
            topics, group = tuple(self._kafka["topics"]), self._kafka["groupId"]
            settings = MembershipSettings(group, topics, instance_id=name, session_timeout_seconds=LONGER_THAN_THE_TEST)
            self.members[name] = Membership({"bootstrap_servers": self._kafka["bootstrapServers"]}, settings)
            self.members[name].start()
        for member in self.members.values():
            member.raise_if_fatal()
        return {name: len(member.ownership()) for name, member in self.members.items()}

    def stop(self) -> None:
        """End all members; the group keeps their places."""
        while self.members:
            self.members.popitem()[1].stop()


def _name(pod: str, stateful_set: dict[str, Any]) -> str:
    variables = stateful_set["spec"]["template"]["spec"]["containers"][0]["env"]
    told = {one["name"]: one.get("value", "") for one in variables}.get(VARIABLE, pod)
    return str(told).replace("$(POD_NAME)", pod)


@pytest.fixture
def spec(kafka: KafkaBroker, topic: Callable[..., str], unique: str) -> dict[str, Any]:
    return {
        "kafka": {"bootstrapServers": kafka.bootstrap, "topics": [topic(PARTITIONS)], "groupId": unique},
        "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
        "members": 2,
        "rollout": {"canary": {"analysis": {"duration": "1s", "minRanges": 0}}},
    }


@pytest.fixture
def make(api_server: ApiServer, spec: dict[str, Any]) -> Iterator[Callable[[str], tuple[Resource, Fleet]]]:
    """Make a resource of a namespace, whose pods get ready, and its members."""
    with ExitStack() as stack:

        def made(namespace: str) -> tuple[Resource, Fleet]:
            api, theirs = (stack.enter_context(api_server.client()) for _ in range(2))
            stack.enter_context(Kubelet(theirs, Resource(theirs, namespace, "clicks", lambda: "")))
            resource = Resource(api, namespace, "clicks", lambda: "")
            fleet = Fleet(resource, spec["kafka"])
            stack.callback(fleet.stop)
            return resource, fleet

        yield made


def names(kafka: KafkaBroker, group: str) -> set[str]:
    """Return the static members of a group."""
    with admin_client({"bootstrap_servers": kafka.bootstrap}) as admin:
        return {str(one["group_instance_id"]) for one in admin.describe_groups([group])[group]["members"]}


def uid(resource: Resource) -> str:
    return str((resource.get() or {})["metadata"]["uid"])[:8]


def test_a_fleet_with_names_of_before_is_rolled_over_and_the_group_forgets_them(
    api_server: ApiServer,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[str], tuple[Resource, Fleet]],
    spec: dict[str, Any],
    kafka: KafkaBroker,
) -> None:
    resource, fleet = make(namespace)
    resource.apply(spec)
    with monkeypatch.context() as environment:
        environment.setenv("PYTHONPATH", python_path(check_out(tmp_path / "before", *PACKAGES, commit=BEFORE)))
        with OperatorProcess(api_server, tmp_path, namespace):
            resource.wait("Ready", "True", "MembersReady")
            ((old, made),) = resource.stateful_sets().items()
            eventually("two each", lambda: fleet.owned() == {f"{old}-0": 2, f"{old}-1": 2}, explain=fleet.owned)
    with OperatorProcess(api_server, tmp_path, namespace) as operator:
        fewest = 2

        def rolled_over() -> bool:
            nonlocal fewest
            owned = fleet.owned()
            fewest = min(fewest, len(owned))
            sets = resource.stateful_sets()
            if old in sets:
                assert sets[old]["spec"]["template"] == made["spec"]["template"], "nobody is restarted"
            return old not in sets and sorted(owned.values()) == [2, 2]

        eventually("all members are new ones", rolled_over, explain=lambda: (fleet.owned(), operator.tail()))
        (new,) = resource.stateful_sets()
        expected = {f"{new}-{number}.{uid(resource)}" for number in (0, 1)}
        assert fleet.members.keys() == names(kafka, spec["kafka"]["groupId"]) == expected
        assert fewest == 2, "members came before others left"
        assert resource.condition("GroupShared").get("status") == "False"
        fleet.stop()
        resource.delete()
        eventually("no name stays", lambda: not names(kafka, spec["kafka"]["groupId"]))


def test_two_operators_that_do_not_see_each_other_tell_of_the_other_ones_members(
    api_server: ApiServer,
    api: Client,
    namespace: str,
    tmp_path: Path,
    make: Callable[[str], tuple[Resource, Fleet]],
    spec: dict[str, Any],
) -> None:
    beside = f"{namespace}-beside"
    api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": beside}})
    (one, first), (other, second) = make(namespace), make(beside)
    for directory in (tmp_path / "one", tmp_path / "other"):
        directory.mkdir()
    with (
        OperatorProcess(api_server, tmp_path / "one", namespace),
        OperatorProcess(api_server, tmp_path / "other", beside) as theirs,
    ):
        for resource in (one, other):
            resource.apply(spec)
            resource.wait("Ready", "True", "MembersReady")
        assert one.stateful_sets().keys() == other.stateful_sets().keys(), "pods are called alike"
        eventually(
            "one partition each",
            lambda: sorted([*first.owned().values(), *second.owned().values()]) == [1, 1, 1, 1],
            explain=lambda: (first.owned(), second.owned()),
        )
        for resource, strangers in ((one, second), (other, first)):
            told = resource.wait("GroupShared", "True", "ForeignMembers")["message"]
            assert all(name in told for name in strangers.members)
        second.stop()
        other.delete()
        eventually("the first has all", lambda: sorted(first.owned().values()) == [2, 2], explain=theirs.tail)
        one.wait("GroupShared", "False", "OwnGroup")
