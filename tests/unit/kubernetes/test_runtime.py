"""What the operator remembers of resources between rounds."""

from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes.client import ApiClient

from logpersister_operator import runtime
from logpersister_operator.cluster.kinds import Document
from logpersister_operator.observe.children import NotListedError
from logpersister_operator.observed import ResourceKey, UnknownLag
from logpersister_operator.runtime import Operator
from logpersister_operator.settings import Settings
from tests.unit.kubernetes.fake_cluster import FakeCluster
from tests.unit.kubernetes.samples import IMAGE, resource

KEY = ResourceKey("logs", "clicks-backup")


class Group:
    """Stands for the questions about one group."""

    made: list["Group"]

    def __init__(self, _resource: Any, _secrets: Any, standing_still: object | None = None) -> None:
        self.standing_still = standing_still or object()
        self.closed = False
        self.made.append(self)

    def ask(self) -> UnknownLag:
        return UnknownLag("not today")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def operator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Operator]:
    Group.made = []
    monkeypatch.setattr(runtime, "GroupLag", Group)
    operator = Operator(ApiClient(), Settings(IMAGE), FakeCluster())
    operator.register(KEY, lambda: None)
    operator.children.complete()
    yield operator
    operator.stop()


def written(document: Document, version: str) -> Document:
    """Return the resource after a write of its status."""
    metadata = {"resourceVersion": version, "managedFields": [{"manager": "operator", "time": version}]}
    return {**document, "metadata": document["metadata"] | metadata, "status": {"revision": version}}


def test_a_write_of_the_status_makes_no_new_connection_to_kafka(operator: Operator) -> None:
    document = resource(storage={"bucket": "logs"})
    for version in ("101", "102", "103"):
        operator.observe(written(document, version))
    assert len(Group.made) == 1
    assert not Group.made[0].closed


def test_changed_settings_of_kafka_do_but_how_long_partitions_stood_still_is_kept(operator: Operator) -> None:
    operator.observe(resource(storage={"bucket": "logs"}))
    operator.observe(
        resource(storage={"bucket": "logs"}, kafka={"bootstrapServers": "broker-2:9092", "topics": ["clicks"]})
    )
    before, after = Group.made
    assert before.closed
    assert not after.closed
    assert after.standing_still is before.standing_still
    operator.unregister(KEY, lambda: None)
    assert not after.closed, "somebody else looks after it"


def test_nothing_is_observed_before_everything_is_listed() -> None:
    operator = Operator(ApiClient(), Settings(IMAGE), FakeCluster())
    with pytest.raises(NotListedError):
        operator.observe(resource())
    assert not operator.drain(resource()).step(), "that no member is known does not mean that there is none"
    operator.stop()
