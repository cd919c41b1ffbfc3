"""What a user's pod runs: Spark with an executor pod of its own reads a backup by the data source of ``spark-source``.

It prints of each partition which offsets it has, a hash of its values, and the hosts on which it was read. It runs in
the image of members: the decoder is there, and the jars of Spark's SQL, which are not, are put beside it.
"""

import hashlib
import json
import os
import socket
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

_HERE = Path(__file__).parent
PACKAGE = "pyspark_logpersister.zip"
TEMPLATE = "executor.json"
JARS = "/jars"
"""Folder of the jars of Spark's SQL."""


def _main() -> None:
    request = json.loads(os.environ["REQUEST"])
    storage = request["storage"]
    spark = _spark(request["image"])
    # Not by its name alone: Spark gives packages that are added only to what is registered.
    spark.sparkContext.addPyFile(str(_HERE / PACKAGE))
    from pyspark_logpersister import DefaultSource  # noqa: PLC0415 - which is there now

    spark.dataSource.register(DefaultSource)
    options = {name: storage[name] for name in ("endpoint", "region")}
    backup = spark.read.format("logpersister").options(**options).load(f"s3://{storage['bucket']}/{storage['prefix']}")
    host = udf(socket.gethostname).asNondeterministic()  # where the task runs that reads the record
    found = backup.select("topic", "partition", "offset", "value", host().alias("host")).toArrow()
    spark.stop()
    sys.stdout.write(f"\n{json.dumps({'driver': socket.gethostname(), 'partitions': _summary(found)})}\n")


def _spark(image: str) -> SparkSession:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    settings = {
        "spark.master": f"k8s://https://{host}:{port}",
        "spark.driver.host": os.environ["POD_IP"],
        "spark.driver.bindAddress": os.environ["POD_IP"],
        "spark.driver.memory": "512m",
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.executor.instances": "1",
        "spark.executor.memory": "512m",
        "spark.kubernetes.namespace": os.environ["POD_NAMESPACE"],
        "spark.kubernetes.driver.pod.name": os.environ["POD_NAME"],
        "spark.kubernetes.container.image": image,
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.executor.podTemplateFile": str(_HERE / TEMPLATE),
        "spark.kubernetes.executor.request.cores": "100m",
        **{f"spark.kubernetes.executor.secretKeyRef.{key}": f"s3:{key}" for key in keys},
        # Not `spark.jars`: Netty's classes for Arrow have to come from the same class loader as the others.
        **{f"spark.{one}.extraClassPath": f"{JARS}/*" for one in ("driver", "executor")},
    }
    builder = SparkSession.builder.appName("query")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _summary(found: pa.Table) -> list[dict[str, Any]]:
    rows = defaultdict[tuple[str, int], list[tuple[int, bytes]]](list)
    hosts = defaultdict[tuple[str, int], set[str]](set)
    for row in found.to_pylist():
        partition = row["topic"], row["partition"]
        rows[partition].append((row["offset"], row["value"]))
        hosts[partition].add(row["host"])
    return [
        {
            "topic": topic,
            "partition": partition,
            "offsets": sorted(offset for offset, _ in of_it),
            "values": hashlib.sha256(b"\n".join(value for _, value in sorted(of_it))).hexdigest(),
            "hosts": sorted(hosts[topic, partition]),
        }
        for (topic, partition), of_it in sorted(rows.items())
    ]


if __name__ == "__main__":
    _main()
