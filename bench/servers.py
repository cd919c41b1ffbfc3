"""The broker and the S3 server of measurements, and what is put into them."""

import json
import os
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.events import event, nested_event
from tests.stack.kafka import KafkaBroker
from tests.stack.minio import MinioServer
from tests.stack.ports import LOOPBACK
from tests.stack.topics import create_topic, produce_many

BUCKET = "bench"
LINES = 20_000
MOST_BYTES = 64_000_000
"""So many different lines, as long as they take no more bytes; Kafka's performance tool draws from them at random."""


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
    with a long list of structs."""
    record_bytes: int
    compression: str = "none"
    """The producer's."""

    @property
    def topic(self) -> str:
        return f"{self.content}-{self.record_bytes}-{self.compression}"


def fill(running: Servers, topic: str, payload: Payload, megabytes: int, *, partitions: int) -> None:
    """Create a topic with so much payload."""
    create_topic(running.kafka.bootstrap, topic, partitions=partitions)
    produce_many(
        running.kafka,
        topic,
        records=megabytes * 10**6 // payload.record_bytes,
        record_bytes=payload.record_bytes,
        compression=payload.compression,
        lines=None if payload.content == "letters" else _lines(running.folder, payload),
    )


def _lines(folder: Path, payload: Payload) -> Path:
    """Return a file of JSON lines of exactly the wanted size; the same in every run."""
    line = {"log": _log_line, "event": event, "nested": nested_event}[payload.content]
    file = folder / f"{payload.content}-{payload.record_bytes}.json"
    if not file.exists():
        chance = random.Random(payload.record_bytes)
        lines = min(LINES, MOST_BYTES // payload.record_bytes)
        file.write_text("".join(f"{line(chance, payload.record_bytes)}\n" for _ in range(lines)))
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
