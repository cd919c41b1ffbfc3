"""The servers and helpers that all integration tests stand on."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from logpersister.manifest import load
from tests.stack import KafkaBroker, MinioServer, S3Server, SeaweedServer, ServerError
from tests.stack.__main__ import example
from tests.stack.artifacts import ROOT
from tests.stack.detached import STANDARD_PORTS, Stack
from tests.stack.topics import (
    Record,
    add_partitions,
    admin,
    alter_topic,
    create_topic,
    delete_records,
    end_offsets,
    produce,
    produce_many,
    read_all,
    transaction,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def test_records_come_back_as_written(kafka: KafkaBroker, topic: Callable[..., str]) -> None:
    name = topic(partitions=2)
    written = [
        Record(b"a", key=b"k", partition=0, timestamp=1_000, headers=[("h", b"1")]),
        Record(None, key=b"tombstone", partition=1, timestamp=2_000),
        Record(b"", partition=0, timestamp=3_000),
    ]
    assert produce(kafka.bootstrap, name, written) == [(0, 0), (1, 0), (0, 1)]
    assert read_all(kafka.bootstrap, name) == {
        0: [
            Record(b"a", key=b"k", partition=0, timestamp=1_000, headers=(("h", b"1"),), offset=0),
            Record(b"", partition=0, timestamp=3_000, offset=1),
        ],
        1: [Record(None, key=b"tombstone", partition=1, timestamp=2_000, offset=0)],
    }


def test_bulk_producer(kafka: KafkaBroker, topic: Callable[..., str]) -> None:
    name = topic(partitions=3)
    produce_many(kafka, name, records=2_000, record_bytes=100)
    assert sum(end_offsets(kafka.bootstrap, name).values()) == 2_000


def test_aborted_and_open_transactions_are_not_read(kafka: KafkaBroker, topic: Callable[..., str], unique: str) -> None:
    name = topic()
    with transaction(kafka.bootstrap, f"{unique}-committed") as current:
        current.produce(name, [b"kept"])
    with transaction(kafka.bootstrap, f"{unique}-aborted") as current:
        current.produce(name, [b"dropped"])
        current.abort()
    with transaction(kafka.bootstrap, f"{unique}-open") as current:
        current.produce(name, [b"open"])
        assert end_offsets(kafka.bootstrap, name) == {0: 5}
        assert end_offsets(kafka.bootstrap, name, committed=True) == {0: 4}  # two records and two markers
        assert [record.value for record in read_all(kafka.bootstrap, name)[0]] == [b"kept"]
    assert [record.value for record in read_all(kafka.bootstrap, name)[0]] == [b"kept", b"open"]


def test_topics_can_be_changed(kafka: KafkaBroker, topic: Callable[..., str]) -> None:
    name = topic(segment_bytes=1024 * 1024)
    produce(kafka.bootstrap, name, [b"1", b"2", b"3"])
    delete_records(kafka.bootstrap, name, {0: 2})
    assert [record.offset for record in read_all(kafka.bootstrap, name)[0]] == [2]
    alter_topic(kafka.bootstrap, name, {"max.message.bytes": "100000"})
    add_partitions(kafka.bootstrap, name, 3)
    assert set(end_offsets(kafka.bootstrap, name)) == {0, 1, 2}


def test_bucket_takes_an_object(s3: "S3Client", bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="a", Body=b"1")
    assert [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket)["Contents"]] == ["a"]


def test_keys_are_found_as_a_mounted_secret(minio: MinioServer, secrets_dir: Path, s3_secret: str) -> None:
    assert (secrets_dir / s3_secret / "AWS_ACCESS_KEY_ID").read_text() == minio.access_key
    assert (secrets_dir / s3_secret / "AWS_SECRET_ACCESS_KEY").read_text() == minio.secret_key


@pytest.mark.parametrize("kind", [MinioServer, SeaweedServer])
def test_s3_keeps_address_buckets_and_keys_when_killed(tmp_path: Path, kind: type[S3Server]) -> None:
    with kind(tmp_path) as server:
        endpoint = server.endpoint
        with closing(server.client()) as client:
            client.create_bucket(Bucket="logs")
            client.put_object(Bucket="logs", Key="a", Body=b"1")
            server.kill()
            assert not server.alive
            server.restart()
            assert server.endpoint == endpoint
            assert client.get_object(Bucket="logs", Key="a")["Body"].read() == b"1"
            with pytest.raises(client.exceptions.NoSuchBucket):
                client.put_object(Bucket="other", Key="a", Body=b"1")


def test_the_stack_outlives_its_command_and_has_what_the_example_names(tmp_path: Path) -> None:
    spec = load(ROOT / "examples" / "clicks.yaml").spec
    assert [address.port for address in spec.kafka.addresses] == [STANDARD_PORTS["kafka"]]
    assert str(spec.storage.endpoint).endswith(f":{STANDARD_PORTS['seaweedfs']}")

    def stack(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tests.stack", f"--directory={tmp_path / 'stack'}", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    code, shown = stack("up")
    try:
        assert (code, stack("status")) == (0, (0, shown.split("\n", 1)[1]))
        assert re.search(r"(?m)^seaweedfs +http://127\.0\.0\.1:\d+ ", shown)
        code, refused = stack("up", "--s3=minio")
        assert (code, refused.splitlines()[-1]) == (
            1,
            "seaweedfs runs as the S3 server; `make stack-down` stops it, then start minio",
        )
        running = Stack(tmp_path / "stack")
        checked = subprocess.run(
            ["sh", "-c", example(running).format("check")],
            cwd=ROOT,
            env={**os.environ, "LOGPERSISTER_SECRETS_DIR": str(running.secrets_dir)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert "2 topics, 7 partitions: clicks (4), orders (3)" in checked.stdout
        assert "warning" not in checked.stdout
    finally:
        assert stack("down")[0] == 0
    assert stack("status")[0] == 1


def test_a_server_that_dies_shows_the_end_of_its_log(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path, properties={"log.retention.ms": "soon"})
    with pytest.raises(ServerError, match=r"(?s)exit code 1.*log\.retention\.ms"):
        broker.start()


@pytest.mark.slow
def test_security_listeners(tmp_path: Path) -> None:
    listeners = ["SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    with KafkaBroker(tmp_path, listeners=listeners, users={"alice": "wonderland"}) as broker:
        certificates = broker.certificates
        assert certificates is not None
        tls: dict[str, Any] = {"ssl_cafile": str(certificates.authority)}
        client = {"ssl_certfile": str(certificates.client_certificate), "ssl_keyfile": str(certificates.client_key)}
        with admin(broker.address("SSL"), security_protocol="SSL", **tls, **client) as connection:
            assert connection.describe_cluster()["brokers"]
        for protocol, extra in (("SASL_PLAINTEXT", {}), ("SASL_SSL", tls)):
            for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
                create_topic(
                    broker.address(protocol),
                    f"{protocol}.{mechanism}",
                    security_protocol=protocol,
                    sasl_mechanism=mechanism,
                    sasl_plain_username="alice",
                    sasl_plain_password="wonderland",
                    **extra,
                )
        broker.kill()
        broker.restart()
        assert end_offsets(broker.bootstrap, "SASL_SSL.PLAIN") == {0: 0}
