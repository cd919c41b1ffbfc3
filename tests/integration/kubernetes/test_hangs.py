"""A member that hangs, before the operator as a process: a real group, and members that say what they do."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from logpersister.group.membership import Membership, MembershipSettings
from tests.integration.harness.waiting import eventually
from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.integration.kubernetes.saying import saying
from tests.stack import KafkaBroker
from tests.stack.topics import Record, produce

pytestmark = pytest.mark.usefixtures("crd")

ADDRESSES = {0: "127.0.77.1", 1: "127.0.77.2"}
RESTARTS = "logpersister_operator_member_restarts_total"
QUESTIONS = "logpersister_operator_lag_questions_total"
LONG_AGO = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
HUNG_JOB = {
    "startedAt": LONG_AGO, "progressAt": LONG_AGO, "tasks": 1, "tasksDone": 0, "ranges": 1, "estimatedBytes": 0,
    "partitions": {"count": 0, "first": []},
}  # fmt: skip


@pytest.fixture
def kubelet(kubelet: Kubelet) -> Kubelet:
    """Lets members answer where the test does it for them."""
    kubelet.addresses = ADDRESSES
    return kubelet


def test_it_is_named_and_restarted_as_often_as_the_budget_allows(
    resource: Resource,
    operator: OperatorProcess,
    kubelet: Kubelet,
    kafka: KafkaBroker,
    topic: Callable[..., str],
    unique: str,
) -> None:
    name = topic(2)
    resource.apply(
        {
            "kafka": {
                "bootstrapServers": kafka.bootstrap, "topics": [name], "groupId": unique, "sessionTimeout": "6s"
            },
            "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
            "upload": {"maxAge": "1s"},
            "cycleInterval": "100ms",
            "members": 2,
            "autoRepair": {"restartAfter": "1s", "maxRestartsPerHour": 1},
        }
    )  # fmt: skip
    (members,) = resource.wait_stateful_sets(1)
    hangs = f"{members}-0"
    with ExitStack() as stack:
        stack.enter_context(saying(ADDRESSES[0], progress={"at": LONG_AGO, "jobs": [HUNG_JOB]}))
        stack.enter_context(saying(ADDRESSES[1]))
        joined = [join(stack, kafka, name, unique, f"{members}-{number}") for number in (0, 1)]
        eventually("one partition each", lambda: [len(one.ownership()) for one in joined] == [1, 1])
        resource.get_ready(members)
        resource.wait("MembersProgressing", "True", "MembersProgress")
        before = uids(resource)
        (stuck,) = joined[0].ownership()
        produce(kafka.bootstrap, name, [Record(b"x", partition=stuck.partition)] * 10)

        resource.eventually(
            "it comes back as another pod", lambda: uids(resource).get(hangs, "") not in before.values()
        )
        found = resource.wait("MembersProgressing", "False", "RestartsUsedUp")
        assert f"member {hangs} hangs since" in found["message"]
        why = f"a Spark job makes no progress; partition {stuck} does not move"
        resource.eventually(why, lambda: why in resource.condition("MembersProgressing")["message"])
        (restart,) = resource.status()["restarts"]
        assert (restart["member"], restart["pod"], restart["count"]) == (hangs, before[hangs], 1)
        assert operator.metrics()[RESTARTS] == 1
        assert len(resource.wait_events("MemberRestarted")) == 1

        after = uids(resource)
        assert after[f"{members}-1"] == before[f"{members}-1"], "the other one works"
        operator.kill()
        operator.start()
        eventually("it has looked for long enough", lambda: operator.metrics().get(QUESTIONS, 0) > 12)
        assert uids(resource) == after, "one that is new knows that the budget is used up"
        told = resource.condition("MembersProgressing")
        assert {**told, "message": ""} == {**found, "message": ""}, "nor is it any news"
    assert kubelet.broken == []


def join(stack: ExitStack, kafka: KafkaBroker, topic: str, group: str, name: str) -> Membership:
    settings = MembershipSettings(group, (topic,), instance_id=name, session_timeout_seconds=30.0)
    member = Membership({"bootstrap_servers": kafka.bootstrap}, settings)
    stack.callback(member.stop)
    member.start()
    return member


def uids(resource: Resource) -> dict[str, str]:
    pods = resource.children("api/v1", "pods")
    return {name: str(pod["metadata"]["uid"]) for name, pod in pods.items()}
