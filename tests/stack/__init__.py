"""Real servers on loopback: Kafka (one broker, or a cluster of three), S3 (MinIO, or SeaweedFS where that will do),
a schema registry, Iceberg's REST catalog, and a Hive metastore.

In a process, as context managers that start together and die with their parent::

    with running(KafkaBroker(directory / "kafka"), MinioServer(directory / "minio")) as (kafka, minio):
        print(kafka.bootstrap, minio.endpoint)

From a shell, staying until they are told to stop: ``python -m tests.stack up|down|status``.
What they run is fetched and built by ``make setup`` into ``.cache``.
"""

from tests.stack.hive import HiveMetastore
from tests.stack.iceberg import IcebergCatalog
from tests.stack.kafka import KafkaBroker
from tests.stack.kafka_cluster import Kafka, KafkaCluster
from tests.stack.minio import MinioServer
from tests.stack.registry import SchemaRegistry
from tests.stack.s3 import S3Server
from tests.stack.seaweedfs import SeaweedServer
from tests.stack.server import ServerError, running

__all__ = [
    "HiveMetastore",
    "IcebergCatalog",
    "Kafka",
    "KafkaBroker",
    "KafkaCluster",
    "MinioServer",
    "S3Server",
    "SchemaRegistry",
    "SeaweedServer",
    "ServerError",
    "running",
]
