"""A cluster of these tests alone: three brokers are started only where they are needed."""

from collections.abc import Iterator

import pytest

from tests.stack import KafkaCluster
from tests.stack.oldest_kafka import OldestCluster


@pytest.fixture(scope="package")
def _cluster(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[KafkaCluster]:
    kind = OldestCluster if pytestconfig.getoption("kafka") == "oldest" else KafkaCluster
    with kind(tmp_path_factory.mktemp("brokers")) as running:
        yield running


@pytest.fixture
def kafka(_cluster: KafkaCluster) -> Iterator[KafkaCluster]:
    """Hides the session's single broker. What a test does to brokers is made good after it."""
    yield _cluster
    _cluster.recover()
