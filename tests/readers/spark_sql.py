"""Spark as another project runs it: a process of its own that knows the tables of a Hive metastore and reads S3.

In the process of a test there may be another Spark, and a JVM takes new jars only when it starts.
"""

import json
import os
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.readers import spark
from tests.readers.arrow import rows_of
from tests.stack import HiveMetastore, MinioServer, artifacts
from tests.stack.hive import s3a
from tests.stack.processes import ClosedAtEnd
from tests.stack.scratch import of_spark


class SqlError(Exception):
    """What Spark says of a query."""


class SparkSql(ClosedAtEnd):
    """Answers queries, one after the other."""

    def __init__(self, folder: Path, metastore: HiveMetastore, minio: MinioServer) -> None:
        settings = {
            **spark.settings(user_timezone="UTC"),
            "spark.jars": ",".join(map(str, artifacts.s3a_jars())),
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.hadoop.hive.metastore.uris": metastore.uri,
            **{f"spark.hadoop.{name}": value for name, value in s3a(minio).items()},
        }
        self._log = folder / "spark.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.readers.spark_sql", json.dumps(settings)],
                cwd=folder,
                env={**os.environ, **of_spark(folder / "scratch"), "PYTHONPATH": str(artifacts.ROOT)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )

    def rows(self, query: str) -> list[Any]:
        """Return the rows of an answer as plain values. Raises `SqlError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(query).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"Spark has ended: {self._log.read_text()[-2000:]}"
        answer = json.loads(line)
        if "error" in answer:
            raise SqlError(answer["error"])
        with pa.ipc.open_stream(b64decode(answer["rows"])) as stream:
            return rows_of(stream.read_all())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def _serve(settings: Mapping[str, str]) -> None:
    session = spark.session(1, settings)
    session.sparkContext.setLogLevel("WARN")
    for line in sys.stdin:
        try:
            session.catalog.clearCache()
            table = session.sql(json.loads(line)).toArrow()
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table)
            answer = {"rows": b64encode(sink.getvalue()).decode()}
        except Exception as error:  # noqa: BLE001 - the test is told
            answer = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]))
