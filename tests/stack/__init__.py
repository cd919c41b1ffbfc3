"""Real servers on loopback: a single-node Kafka (KRaft) and MinIO.

In a process, as context managers that start together and die with their parent::

    with running(KafkaBroker(directory / "kafka"), MinioServer(directory / "minio")) as (kafka, minio):
        print(kafka.bootstrap, minio.endpoint)

From a shell, staying until they are told to stop: ``python -m tests.stack up|down|status``.
What they run is fetched and built by ``make setup`` into ``.cache``.
"""

from tests.stack.kafka import KafkaBroker
from tests.stack.minio import MinioServer
from tests.stack.server import ServerError, running

__all__ = ["KafkaBroker", "MinioServer", "ServerError", "running"]
