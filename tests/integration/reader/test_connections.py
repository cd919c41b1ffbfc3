"""How the reader connects, and what it leaves behind."""

import gc
import logging
import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kafka.net.connection import KafkaConnection
from kafka.net.transport import KafkaTCPTransport

from logpersister.kafka_client import patches
from logpersister.pipeline.reader import RangeReadError, ReaderSettings
from logpersister.pipeline.reader.settings import MIB
from tests.integration.reader.reading import (
    PASSWORD,
    SMALL,
    USER,
    MakeTopic,
    Open,
    read_records,
    whole,
)
from tests.stack import KafkaBroker
from tests.stack.topics import (
    Record,
    produce,
    produce_many,
)


def test_tls_and_login(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, tmp_path: Path) -> None:
    assert kafka.certificates is not None
    name = topic()
    produce_many(kafka, name, records=5_000, record_bytes=1_000)
    requests = whole(kafka.bootstrap, name, estimated_bytes=5 * MIB)
    certificates = kafka.certificates
    tls = {
        "ssl_cafile": str(certificates.authority),
        "ssl_certfile": str(certificates.client_certificate),
        "ssl_keyfile": str(certificates.client_key),
    }
    ways: list[Mapping[str, Any]] = [
        {"bootstrap_servers": kafka.address("SSL"), "security_protocol": "SSL", **tls},
        {
            "bootstrap_servers": kafka.address("SASL_SSL"),
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": USER,
            "sasl_plain_password": PASSWORD,
            "ssl_cafile": str(certificates.authority),
        },
    ]
    for way in ways:
        reader = open_reader(**way)
        (found,) = read_records(reader, requests).values()
        assert [record.offset for record in found] == list(range(5_000))
        assert not reader.stats.retries
    wrong = open_reader(**{**ways[1], "sasl_plain_password": "wrong"})
    began = time.monotonic()
    with pytest.raises(RangeReadError) as caught:
        read_records(wrong, requests)
    assert time.monotonic() - began < wrong.settings.connect_timeout  # at once
    assert (caught.value.kind, caught.value.retriable) == ("unauthorized", False)
    assert "wrong" not in str(caught.value)


def test_one_server_of_several_says_nothing(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    patches.leave_silent()  # as `client_config` does
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    requests = whole(kafka.bootstrap, name)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = [f"127.0.0.1:{silent.getsockname()[1]}"] * 3 + [kafka.bootstrap]  # the order of trying is random
        config = {"bootstrap_servers": servers, "socket_connection_setup_timeout_ms": 1_000}
        (found,) = read_records(open_reader(ReaderSettings(connect_timeout=30), **config), requests).values()
    assert len(found) == 10


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_its_own_connections(kafka: KafkaBroker, topic: MakeTopic, open_reader: Open) -> None:
    """Spark forks its Python workers."""
    name = topic()
    produce(kafka.bootstrap, name, [b"v"] * 10)
    reader = open_reader()
    requests = whole(kafka.bootstrap, name)
    (before,) = read_records(reader, requests).values()
    result, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            (found,) = read_records(reader, requests).values()
            reader.close()
            os.write(told, b"%d" % len(found))
        finally:
            os._exit(0)
    os.close(told)
    with os.fdopen(result) as answer:
        assert answer.read() == "10"
    os.waitpid(child, 0)
    (after,) = read_records(reader, requests).values()
    assert after == before


def test_hundreds_of_reads_leave_nothing_behind(
    kafka: KafkaBroker, topic: MakeTopic, open_reader: Open, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "kafka")  # lines below it are kept until the end, with the connections they name
    name = topic(partitions=2)
    produce(kafka.bootstrap, name, [Record(b"v" * 900, partition=number % 2) for number in range(400)])
    requests = whole(kafka.bootstrap, name, estimated_bytes=200_000)
    reader = open_reader(SMALL)

    def some_reads() -> None:
        for number in range(120):
            for read in reader.read(requests):
                batches = read.batches()
                if number % 2:
                    next(batches)  # given up
                else:
                    assert sum(batch.num_rows for batch in batches) == 200
            reader.sample(requests[0].range.partition, 100, 10_000)
            if number % 40 == 0:
                reader.close()

    some_reads()
    before = _held()
    some_reads()
    assert _held() == before


def _held() -> tuple[int, int, int]:
    """Open files, threads, and objects of the library's connections."""
    gc.collect()
    connections = sum(issubclass(type(one), (KafkaConnection, KafkaTCPTransport)) for one in gc.get_objects())
    return len(list(Path("/proc/self/fd").iterdir())), threading.active_count(), connections
