"""Reads a backup with the data source of ``spark-source``, in a process of its own, as a Spark of users does.

    python -m tests.integration.reader.backup_source FOLDER < request

writes the records of each query of the request into an Arrow file, and says how many objects it read.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from tests.readers import spark
from tests.stack import artifacts

_SECONDS = 240


@dataclass(frozen=True)
class Answer:
    """What a query has given."""

    rows: pa.Table
    """Timestamps in milliseconds."""
    objects: int
    """Objects that were read."""


def read_backup(path: str, options: Mapping[str, str], queries: Sequence[str], folder: Path) -> dict[str, Answer]:
    """Return the answer of each query, a condition of SQL. ``folder`` takes the files in which they come."""
    request = json.dumps({"path": path, "options": options, "queries": queries})
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(folder)],
        cwd=artifacts.ROOT,
        env={**os.environ, "PYTHONPATH": str(artifacts.ROOT / "spark-source")},
        input=request,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    objects = json.loads(done.stdout.splitlines()[-1])
    return {
        query: Answer(pyarrow.feather.read_table(folder / f"{number}.arrow"), objects[number])
        for number, query in enumerate(queries)
    }


def _main(folder: str) -> None:
    request = json.load(sys.stdin)
    own = {
        "spark.driver.memory": "1g",
        "spark.pyspark.python": sys.executable,
        "spark.sql.python.filterPushdown.enabled": "true",
    }
    session = spark.session(2, own)
    objects = []
    columns = ("topic", "partition", "offset", "unix_millis(timestamp) as timestamp", "key", "value", "headers")
    for number, query in enumerate(request["queries"]):
        loaded = session.read.format("logpersister").options(**request["options"]).load(request["path"])
        found = loaded.where(query).selectExpr(*columns)  # one plan for both questions: Python makes it, in processes
        objects.append(found.rdd.getNumPartitions())
        pyarrow.feather.write_feather(found.toArrow(), Path(folder) / f"{number}.arrow")
    session.stop()
    sys.stdout.write(f"\n{json.dumps(objects)}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
