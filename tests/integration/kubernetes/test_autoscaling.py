"""Members that follow the lag of a real group, by the operator as a process on a real API server."""

import time
from collections.abc import Callable

import pytest
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

from tests.integration.kubernetes.kubelet import Kubelet
from tests.integration.kubernetes.operator_process import OperatorProcess, Resource
from tests.stack import KafkaBroker
from tests.stack.topics import Record, produce

pytestmark = [pytest.mark.usefixtures("crd"), pytest.mark.timeout(300)]

RECORDS = 5000
"""In each partition."""
HOUR_AGO = int(time.time() - 3600) * 1000


class Committing:
    """Stands for what members do to the group: it commits a little more each time that it is asked."""

    def __init__(self, consumer: KafkaConsumer, topic: str) -> None:
        self._consumer = consumer
        self._partitions = [TopicPartition(topic, number) for number in (0, 1)]
        self._at = 0
        consumer.assign(self._partitions)

    def more(self) -> None:
        self.up_to(min(self._at + 1, RECORDS - 1))

    def up_to(self, offset: int) -> None:
        self._at = offset
        self._consumer.commit({one: OffsetAndMetadata(offset, "", -1) for one in self._partitions})


def test_members_follow_the_lag_though_the_operator_is_killed(
    resource: Resource,
    operator: OperatorProcess,
    kubelet: Kubelet,
    kafka: KafkaBroker,
    topic: Callable[..., str],
    unique: str,
) -> None:
    name = topic(2)
    old = [Record(b"x", partition=number % 2, timestamp=HOUR_AGO) for number in range(2 * RECORDS)]
    produce(kafka.bootstrap, name, old)
    with KafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=unique, enable_auto_commit=False) as consumer:
        group = Committing(consumer, name)

        def has(members: int) -> bool:
            group.more()
            return [one["spec"]["replicas"] for one in resource.stateful_sets().values()] == [members]

        group.more()
        spec = {
            "kafka": {"bootstrapServers": kafka.bootstrap, "topics": [name], "groupId": unique},
            "storage": {"bucket": "logs", "prefix": "raw", "region": "eu-west-1"},
            "upload": {"maxAge": "1s"},
            "cycleInterval": "100ms",
            "autoscale": {
                "maxMembers": 5, "targetLag": "30s", "scaleUpStabilization": "2s", "scaleDownStabilization": "2s"
            },
        }  # fmt: skip
        resource.apply(spec)
        resource.eventually("as many members as partitions", lambda: has(2))

        def limited() -> bool:
            group.more()
            return resource.condition("Autoscaling").get("reason") == "LimitReached"

        resource.eventually("more are of no use", limited)
        told = resource.condition("Autoscaling")
        assert told["status"] == "False"
        assert "the number of partitions allows no more members; last, from 1 to 2 at" in told["message"]
        assert resource.status()["members"]["desired"] == 2
        operator.kill()
        group.up_to(RECORDS)
        operator.start()
        resource.eventually("the second one leaves", lambda: resource.status()["autoscale"]["members"] == 1)
        resource.wait("Autoscaling", "True", "ScaledDown")
        assert (resource.get() or {})["spec"] == spec, "the spec is the user's"

        def scaled() -> list[str]:
            return sorted(one["reason"] for one in resource.events() if one["reason"].startswith("Scaled"))

        resource.eventually("both are told as events, once", lambda: scaled() == ["ScaledDown", "ScaledUp"])
    assert kubelet.broken == []
