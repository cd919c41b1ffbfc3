"""The broker and the S3 server of measurements, and what is put into them."""

import json
import os
import random
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.events import avro_event, event, nested_event
from tests.stack.artifacts import java, kafka_classpath
from tests.stack.kafka import KafkaBroker
from tests.stack.minio import MinioServer
from tests.stack.ports import LOOPBACK
from tests.stack.topics import create_topic, produce_many

BUCKET = "bench"
MOST_BYTES = 160_000_000
"""So much is written anew until values repeat: a row group of 128 MiB meets none twice."""
PRODUCER = Path(__file__).with_name("Produce.java")


@dataclass(frozen=True, slots=True)
class Servers:
    """Where the servers listen, and a folder that lives as long as they do."""

    kafka: KafkaBroker
    minio: MinioServer
    folder: Path

    @property
    def processes(self) -> Mapping[str, int]:
        """Process ids by name, for `bench.processes.watched`."""
        return {"broker": self.kafka.pid, "S3 server": self.minio.pid}


@contextmanager
def servers(host: str = LOOPBACK) -> Iterator[Servers]:
    """Start a broker and an S3 server for the time of the block; the bucket's keys are in the environment."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logpersister-bench-")))
        # As in production, where brokers run long enough for the best code that Java can make.
        kafka = KafkaBroker(folder / "kafka", heap="1g", host=host, jvm=["-XX:TieredStopAtLevel=4"])
        minio = MinioServer(folder / "minio", host=host, optimised=True)
        for server in (kafka, minio):
            server.start()
            stack.callback(server.kill)
        minio.write_secret(folder / "secrets")
        os.environ["LOGPERSISTER_SECRETS_DIR"] = str(folder / "secrets")
        client = minio.client()
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield Servers(kafka, minio, folder)


@dataclass(frozen=True, slots=True)
class Payload:
    """What the records of a topic are."""

    content: str
    """``letters``: random capital letters, as Kafka's performance tool makes them; nothing compresses worse and is
    text. ``log``: JSON log lines, padded by a message of words. ``event``: see `bench.events`. ``nested``: an event
    with a long list of structs. ``avro``: events as Avro behind the id of their schema."""
    record_bytes: int
    """Of Avro: of the same event as JSON."""
    compression: str = "none"
    """The producer's."""

    @property
    def topic(self) -> str:
        return f"{self.content}-{self.record_bytes}-{self.compression}"


def fill(running: Servers, topic: str, payload: Payload, megabytes: int, *, partitions: int) -> None:
    """Create a topic with so much payload."""
    create_topic(running.kafka.bootstrap, topic, partitions=partitions)
    records = megabytes * 10**6 // payload.record_bytes
    if payload.content == "letters":
        bytes_ = payload.record_bytes
        produce_many(running.kafka, topic, records=records, record_bytes=bytes_, compression=payload.compression)
        return
    arguments = [topic, partitions, records, payload.compression, _values(running.folder, payload)]
    command = [java(), "-Xmx1g", "-cp", kafka_classpath(), str(PRODUCER), running.kafka.bootstrap]
    subprocess.run([*command, *map(str, arguments)], check=True)


def _values(folder: Path, payload: Payload) -> Path:
    """Return a file of values, each behind its length; the same in every run, and so many that their number is odd."""
    value = {"log": _log_line, "event": event, "nested": nested_event, "avro": event}[payload.content]
    file = folder / f"{payload.content}-{payload.record_bytes}.values"
    if not file.exists():
        chance = random.Random(payload.record_bytes)
        with file.open("wb") as written:
            for _ in range(MOST_BYTES // payload.record_bytes | 1):  # so that each partition gets all of them
                text = value(chance, payload.record_bytes)
                content = avro_event(text) if payload.content == "avro" else text.encode()
                written.write(len(content).to_bytes(4, "big") + content)
    return file


def _log_line(chance: random.Random, size: int) -> str:
    head = {
        "time": f"2026-11-21T{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.random() * 60:09.6f}Z",
        "level": chance.choice(("info", "info", "info", "warning")),
        "trace": f"{chance.getrandbits(64):016x}",
    }
    words: list[str] = []
    while sum(map(len, words)) < size:
        words.append(f"{chance.choice(('user', 'order', 'item', 'cache', 'shard'))}={chance.randrange(100_000)} ")
    text = json.dumps(head)[:-1] + ', "message": "'
    return (text + "".join(words))[: size - 2] + '"}'


def manifest(running: Servers, name: str, topics: Sequence[str], **spec: Any) -> dict[str, Any]:
    """Return a manifest of a group, also the prefix of its objects; ``spec`` adds sections."""
    return {
        "apiVersion": "logpersister.dev/v1alpha1",
        "kind": "LogPersister",
        "metadata": {"name": name},
        "spec": {
            "kafka": {"bootstrapServers": running.kafka.bootstrap, "topics": list(topics)},
            "storage": {
                "bucket": BUCKET,
                "prefix": name,
                "endpoint": running.minio.endpoint,
                "region": running.minio.region,
                "secretName": "s3",
            },
            **spec,
        },
    }


def empty_bucket(running: Servers, prefix: str) -> None:
    """Delete what a measurement has stored, so that a disk need not hold all of them."""
    client = running.minio.client()
    for page in client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/"):
        keys = [{"Key": entry["Key"]} for entry in page.get("Contents", [])]
        if keys:
            client.delete_objects(Bucket=BUCKET, Delete={"Objects": keys, "Quiet": True})  # type: ignore[typeddict-item]
    client.close()
