"""Spark beside a run, in an environment of its own: ``spark_table.py JARS compact|read SETTINGS``.

It runs under another Python than the tests, so it imports nothing of them. ``compact`` goes on until it is killed and
prints a line for each attempt. ``read`` prints each live row as JSON: instants as milliseconds, bytes in hexadecimal
digits.
"""

import json
import random
import sys
import time
from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

_PAUSE = (2.0, 8.0)
_LONG = 64
"""Texts of more characters are told by their SHA-256, as `contents` tells them."""


def session(jars: str, settings: dict[str, Any]) -> SparkSession:
    """Start Spark with the catalog as ``lake``."""
    of_catalog = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": settings["uri"],
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".s3.endpoint": settings["endpoint"],
        ".s3.path-style-access": "true",
        ".s3.access-key-id": settings["access"],
        ".s3.secret-access-key": settings["secret"],
        ".client.region": settings["region"],
        ".cache-enabled": "false",
    }
    options = {
        "spark.jars": jars,
        "spark.ui.enabled": "false",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        **{f"spark.sql.catalog.chaos{name}": value for name, value in of_catalog.items()},
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def compact(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Rewrite files, and now and then manifests, until killed."""
    chance = random.Random(f"spark {settings['seed']} {time.time_ns()}")
    while True:
        time.sleep(chance.uniform(*_PAUSE))
        table = f"{settings['namespace']}.{chance.choice(settings['tables'])}"
        rewrite = f"call chaos.system.rewrite_data_files(table => '{table}', options => map('min-input-files', '2'))"
        files = rewrite, "rewritten_data_files_count"
        manifests = f"call chaos.system.rewrite_manifests('{table}')", "rewritten_manifests_count"
        call, count = chance.choices([files, manifests], [4, 1])[0]
        try:
            (found,) = spark.sql(call).collect()
            came = "committed" if found[count] else "nothing to do"
        except Exception as error:  # noqa: BLE001 - servers are killed meanwhile: it goes on
            came = f"failed: {_kind(str(error))}"
        _say({"came": came})


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _kind(message: str) -> str:
    for kind in ("NoSuchTable", "TABLE_OR_VIEW_NOT_FOUND", "CommitFailed", "CommitStateUnknown", "ValidationException"):
        if kind in message:
            return kind
    return "other"


def read(spark: SparkSession, settings: dict[str, Any]) -> None:
    """Print all live rows."""
    table = spark.table(f"chaos.{settings['namespace']}.{settings['tables'][0]}")
    for row in table.selectExpr(*told(table.dtypes)).toLocalIterator():
        _say(row.asDict(recursive=True))


def told(columns: Iterable[tuple[str, str]]) -> list[str]:
    """Return the expressions by which columns, given with their types, are told in JSON."""

    def expression(name: str, kind: str) -> str:
        if kind.startswith("timestamp"):
            return f"unix_millis(`{name}`)"
        if kind == "binary":
            return f"hex(`{name}`)"
        if kind.startswith("decimal"):
            return f"cast(`{name}` as string)"
        return f"if(length(`{name}`) > {_LONG}, sha2(`{name}`, 256), `{name}`)" if kind == "string" else f"`{name}`"

    return [f"{expression(name, kind)} as `{name}`" for name, kind in columns]


if __name__ == "__main__":
    place = json.loads(sys.argv[3])
    {"compact": compact, "read": read}[sys.argv[2]](session(sys.argv[1], place), place)
