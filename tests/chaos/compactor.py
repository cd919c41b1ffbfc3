"""Who compacts the tables beside members: a process of its own, by pyiceberg or by Spark."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.stack import IcebergCatalog, MinioServer, artifacts, reaper

_BY_PYICEBERG = [sys.executable, "-m", "tests.chaos.compaction"]
_SPARK_PROGRAM = Path(__file__).with_name("spark_table.py")
NAMESPACE = "lake"
CONFLICTS = ("conflict", "failed: CommitFailed", "failed: ValidationException")
"""What came of an attempt that a member's commit has made stale; by Spark, when it has given up."""
_MOST_ENDS = 10
"""Without an attempt in between."""


class Compactor:
    """Starts it, kills it, and tells how often it has committed."""

    def __init__(
        self,
        directory: Path,
        minio: MinioServer,
        catalog: IcebergCatalog,
        seed: int,
        tables: Sequence[str],
        *,
        by_spark: bool,
    ) -> None:
        self._tables = tables
        self._minio = minio
        self._catalog = catalog
        self._seed = seed
        self.by_spark = by_spark
        self._log = directory / "compactor.jsonl"
        self._process: subprocess.Popen[bytes] | None = None
        self._ends = 0

    def settings(self, *tables: str) -> str:
        """Return how tables, all unless they are named, are reached past all proxies, as the programs take it."""
        return json.dumps(
            {
                "uri": self._catalog.url,
                "endpoint": self._minio.endpoint,
                "access": self._minio.access_key,
                "secret": self._minio.secret_key,
                "region": self._minio.region,
                "namespace": NAMESPACE,
                "tables": tables or self._tables,
                "seed": self._seed,
            }
        )

    def start(self) -> None:
        command = spark_command("compact", self.settings()) if self.by_spark else [*_BY_PYICEBERG, self.settings()]
        with self._log.open("ab") as output, self._log.with_suffix(".err").open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
            )
        reaper.register(self._process.pid)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def tick(self) -> None:
        """Start it again if it has ended by itself.

        Raises:
            RuntimeError: it does so again and again, so nobody compacts.
        """
        if self._process is not None and not self.alive:
            reaper.forget(self._process.pid)
            self._ends += 1
            if self._ends > _MOST_ENDS + sum(self._attempts().values()):
                raise RuntimeError(f"whoever compacts ends again and again; see {self._log.with_suffix('.err')}")
            self.start()

    def kill(self) -> None:
        """``kill -9``, with all that it has started."""
        if self._process is None:
            return
        if self.alive:
            os.killpg(self._process.pid, 9)
        self._process.wait()
        reaper.forget(self._process.pid)
        self._process = None

    def counts(self) -> dict[str, int]:
        """Return how often what came of it."""
        return dict(self._attempts() + Counter({"ended by itself": self._ends}))

    def _attempts(self) -> Counter[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return Counter(json.loads(line)["came"] for line in lines if line.endswith("}"))


def spark_command(*arguments: str) -> list[str]:
    """Return how to call the program that runs in Spark's own environment."""
    python, jars = artifacts.iceberg_spark()
    return [str(python), str(_SPARK_PROGRAM), ",".join(map(str, jars)), *arguments]
