"""A broker of the reader's tests alone, because they kill it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from logpersister.pipeline.reader import KafkaReader, ReaderSettings
from tests.integration.reader.reading import PASSWORD, USER, Open
from tests.stack import KafkaBroker


@pytest.fixture(scope="package")
def tiers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the broker's tiered storage is."""
    return tmp_path_factory.mktemp("tiers")


@pytest.fixture(scope="package")
def kafka(tmp_path_factory: pytest.TempPathFactory, tiers: Path) -> Iterator[KafkaBroker]:
    """Hides the session's."""
    broker = KafkaBroker(
        tmp_path_factory.mktemp("reader"),
        listeners=["SSL", "SASL_SSL"],
        users={USER: PASSWORD},
        properties={"log.cleaner.backoff.ms": "200", **_tiered(tiers)},
    )
    with broker:
        yield broker


def _tiered(folder: Path) -> dict[str, str]:
    """Return what lets topics with ``remote.storage.enable`` have their old segments in a folder, soon."""
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.manager.class.name": "org.apache.kafka.server.log.remote.storage.LocalTieredStorage",
        "remote.log.storage.manager.impl.prefix": "storage.",
        "storage.dir": str(folder),
        "remote.log.metadata.manager.listener.name": "PLAINTEXT",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "1",
        "remote.log.manager.task.interval.ms": "200",
        "log.retention.check.interval.ms": "200",
        "log.initial.task.delay.ms": "200",
    }


@pytest.fixture
def open_reader(kafka: KafkaBroker) -> Iterator[Open]:
    opened: list[KafkaReader] = []

    def open_one(settings: ReaderSettings | None = None, **config: Any) -> KafkaReader:
        # The pause is the product's own (kafka_client.config).
        common = {"bootstrap_servers": kafka.bootstrap, "reconnect_backoff_max_ms": 5_000}
        opened.append(KafkaReader({**common, **config}, settings))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()
