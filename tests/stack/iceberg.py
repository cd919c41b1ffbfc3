"""Iceberg's own REST catalog, as its project tests clients with it; its tables are known in a file of SQLite."""

from collections.abc import Sequence
from pathlib import Path

from tests.stack import artifacts
from tests.stack.minio import MinioServer
from tests.stack.ports import LOOPBACK
from tests.stack.scratch import of_java
from tests.stack.server import Server, answers

_PROGRAM = Path(__file__).with_name("IcebergCatalog.java")


class IcebergCatalog(Server):
    """A catalog without any table; two seconds to start, 150 MiB."""

    name = "iceberg"

    def __init__(self, directory: Path, minio: MinioServer, *, port: int | None = None) -> None:
        super().__init__(directory, port=port)
        self._minio = minio

    @property
    def url(self) -> str:
        """What `spec.table.catalog.uri` is set to."""
        return f"http://{LOOPBACK}:{self.port}"

    def _command(self) -> Sequence[str]:
        jvm = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        properties = {
            "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            "uri": f"jdbc:sqlite:{self.directory / 'catalog.db'}",
            "warehouse": "s3://warehouse/tables",
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "client.region": "us-east-1",
            "s3.endpoint": self._minio.endpoint,
            "s3.path-style-access": "true",
            "s3.access-key-id": self._minio.access_key,
            "s3.secret-access-key": self._minio.secret_key,
        }
        program = [artifacts.java(), *jvm, of_java(self.temporary), "-cp", artifacts.iceberg_classpath(), str(_PROGRAM)]
        return [*program, LOOPBACK, str(self.port), *(f"{name}={value}" for name, value in properties.items())]

    def _serves(self) -> bool:
        return answers(f"{self.url}/v1/config")
