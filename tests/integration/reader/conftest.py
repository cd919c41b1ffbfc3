"""A broker of the reader's tests alone, because they kill it."""

from collections.abc import Iterator
from typing import Any

import pytest

from logpersister.pipeline.reader import KafkaReader, ReaderSettings
from tests.integration.reader.reading import PASSWORD, USER, Open
from tests.stack import KafkaBroker


@pytest.fixture(scope="package")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Hides the session's."""
    broker = KafkaBroker(
        tmp_path_factory.mktemp("reader"),
        listeners=["SSL", "SASL_SSL"],
        users={USER: PASSWORD},
        properties={"log.cleaner.backoff.ms": "200"},
    )
    with broker:
        yield broker


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
