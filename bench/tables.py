"""``make bench ARGS=tables``: one snapshot of each type's table, in a REST catalog and S3 on this machine.

Each round stores a receipt for each partition, of which a share of the types has rows, and performs the duty once. The
CPU is that of this process, so neither the catalog's nor the S3 server's. Kafka and the files themselves are left out.
"""

import argparse
import logging
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from bench import machine
from bench.spread import Spread
from logpersister.manifest import LogPersister, parse
from logpersister.manifest.revisions.table_binding import TableBinding
from logpersister.manifest.secrets import Secrets
from logpersister.member.tables import table_opener
from logpersister.ranges import Range, TopicPartition
from logpersister.storage.receipts import Receipt, TableFile, TableFiles, put_receipt
from logpersister.storage.store import ObjectStore, open_store
from logpersister.tables.appends import CommittedPosition
from logpersister.tables.columns import table_columns
from logpersister.tables.duty import TableDuty
from tests.stack import IcebergCatalog
from tests.stack.minio import MinioServer

TOPIC = "events"
TOPIC_ID = "Zb2v0lyrTgqKUuG1nB9Rrg"
GROUP = "bench"
BUCKET = "warehouse"
COLUMNS = 20
RECORDS = 10_000
"""Of each range."""
MOST_NAMES = 100
"""Of one entry of a manifest."""
WIDTH = 100


@dataclass(slots=True)
class Scene:
    """A topic with tables of its types."""

    resource: LogPersister
    store: ObjectStore
    secrets: Secrets
    partitions: int
    bindings: dict[str, TableBinding] = field(default_factory=dict)
    end: int = 0

    def bind(self) -> None:
        """Create the tables."""
        opened = self._opened()
        for name, spec in self.resource.spec.tables_of_types().items():
            columns = table_columns(self.resource.model_copy(update={"spec": spec}))
            self.bindings[name] = opened(TOPIC, 1, name).ensure(columns)

    def duty(self) -> TableDuty:
        """Return what appends."""
        opened = self._opened()
        return TableDuty(
            self.store,
            GROUP,
            opened,
            lambda topic, number, type_: str(opened(topic, number, type_).name),
            lambda _: {n: CommittedPosition(self.end, 1, TOPIC_ID) for n in range(self.partitions)},
            60,
            types=lambda _: frozenset(self.bindings),
        )

    def put(self, with_rows: int) -> None:
        """Put the receipts of one range for each partition."""
        start, self.end = self.end, self.end + RECORDS
        names = sorted(self.bindings)
        for partition in range(self.partitions):
            of_types = {name: self._files(name, partition, start) for name in names[:with_rows]}
            range_ = Range(TopicPartition(TOPIC, partition), start, self.end)
            receipt = Receipt(range_, TOPIC_ID, 1, "abc", of_types, tuple(names[with_rows:]))
            put_receipt(self.store, GROUP, receipt)

    def _files(self, name: str, partition: int, start: int) -> TableFiles:
        binding = self.bindings[name]
        columns = {str(number): {"size": 1000, "values": 50, "nulls": 0} for number in binding.field_ids.values()}
        key = f"{TOPIC}/type={name}/dt=2026-11-21/1_{partition}_{start:020d}.parquet"
        file = TableFile(key, 10_000, 50, ("2026-11-21",), columns, (4,))
        return TableFiles(binding.uuid, binding.schema_id, binding.spec_id, (file,))

    def _opened(self) -> Any:
        assert self.resource.spec.table is not None
        return table_opener(self.resource, self.resource.spec.table, self.secrets)


def manifest(types: int, catalog: str, s3: str) -> LogPersister:
    """Return one of so many types."""
    fields = [{"name": f"field_{number}", "type": "int64"} for number in range(COLUMNS)]
    names = [f"type_{number:03}" for number in range(types)]
    entries = [{"names": names[at : at + MOST_NAMES]} for at in range(0, types, MOST_NAMES)]
    return parse(
        {
            "apiVersion": "logpersister.dev/v1alpha1",
            "kind": "LogPersister",
            "metadata": {"name": GROUP},
            "spec": {
                "kafka": {"bootstrapServers": "none:9092", "topics": [TOPIC]},
                "storage": {"bucket": BUCKET, "endpoint": s3, "secretName": "s3"},
                "value": {"json": {"fields": fields}},
                "output": {"parquet": {}, "partitionBy": [{"date": {"granularity": "day"}}]},
                "types": {"header": "type", "entries": entries},
                "table": {
                    "format": "iceberg",
                    "name": f"lake{types}.{{topic}}_{{type}}",
                    "catalog": {"type": "rest", "uri": catalog, "properties": {"s3.endpoint": s3}},
                },
            },
        }
    )


@contextmanager
def servers() -> Iterator[tuple[str, str, Path]]:
    """Start a catalog and an S3 server; yield where they listen, and the folder of Secrets."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="logpersister-bench-")))
        minio = stack.enter_context(MinioServer(folder / "minio", optimised=True))
        catalog = stack.enter_context(IcebergCatalog(folder / "catalog", minio))
        minio.write_secret(folder / "secrets")
        client = minio.client()
        client.create_bucket(Bucket=BUCKET)
        client.close()
        yield catalog.url, minio.endpoint, folder / "secrets"


@dataclass(frozen=True, slots=True)
class Pass:
    """What one performance of the duty has taken."""

    seconds: float
    cpu: float


def passes(scene: Scene, with_rows: int, rounds: int) -> list[Pass]:
    """Return what each of so many performances takes; a first one is left out, which opens the catalog."""
    found, duty = [], scene.duty()
    for _ in range(rounds + 1):
        scene.put(with_rows)
        wall, cpu = time.perf_counter(), time.process_time()
        duty.perform(TOPIC)
        found.append(Pass(time.perf_counter() - wall, time.process_time() - cpu))
    return found[1:]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench tables", description=__doc__)
    parser.add_argument("--types", type=int, default=200, help="how many, compared with one")
    parser.add_argument("--sparse", type=int, default=20, help="of how many of them there are rows, in a further case")
    parser.add_argument("--partitions", type=int, default=12, help="of the topic, one range each")
    parser.add_argument("--rounds", type=int, default=5, help="snapshots of each case")
    options = parser.parse_args(arguments)
    print(machine.describe(), flush=True)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    results: dict[tuple[int, int], list[Pass]] = {}
    with servers() as (catalog, s3, folder):
        secrets = Secrets({"LOGPERSISTER_SECRETS_DIR": str(folder)})
        for types in (1, options.types):
            resource = manifest(types, catalog, s3)
            scene = Scene(resource, open_store(resource.spec.storage, secrets), secrets, options.partitions)
            scene.bind()
            for with_rows in dict.fromkeys((types, min(types, options.sparse))):
                results[types, with_rows] = passes(scene, with_rows, options.rounds)
    Console(width=WIDTH).print(table(results, options.partitions))


def table(results: Mapping[tuple[int, int], Sequence[Pass]], partitions: int) -> Table:
    """Return the median (least-most) of each case."""
    shown = Table(title=f"{partitions} ranges into tables; median (least-most)", box=MARKDOWN)
    for column in ("types", "with rows", "s", "CPU s"):
        shown.add_column(column, no_wrap=True)
    for (types, with_rows), found in results.items():
        seconds, cpu = (Spread.of(values) for values in zip(*((one.seconds, one.cpu) for one in found), strict=True))
        shown.add_row(str(types), str(with_rows), seconds.text(2), cpu.text(2))
    return shown
