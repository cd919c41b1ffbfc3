"""Iceberg's own REST catalog, as its project tests clients with it; its tables are known in a file of SQLite."""

import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.stack import artifacts
from tests.stack.minio import MinioServer
from tests.stack.ports import LOOPBACK
from tests.stack.server import Server


class IcebergCatalog(Server):
    """A catalog without any table; a second to start, 150 MiB. It listens on all interfaces: it knows no other way."""

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
        main = "org.apache.iceberg.rest.RESTCatalogServer"
        return [artifacts.java(), *jvm, "-cp", artifacts.iceberg_classpath(), main]

    def _environment(self) -> Mapping[str, str]:
        """Return its configuration: ``CATALOG_IO__IMPL`` is what it calls ``io-impl``."""
        return {
            **super()._environment(),
            "CATALOG_REST_PORT": str(self.port),
            "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
            "CATALOG_URI": f"jdbc:sqlite:{self.directory / 'catalog.db'}",
            "CATALOG_WAREHOUSE": "s3://warehouse/tables",
            "CATALOG_IO__IMPL": "org.apache.iceberg.aws.s3.S3FileIO",
            "CATALOG_S3_ENDPOINT": self._minio.endpoint,
            "CATALOG_S3_PATH__STYLE__ACCESS": "true",
            "CATALOG_S3_ACCESS__KEY__ID": self._minio.access_key,
            "CATALOG_S3_SECRET__ACCESS__KEY": self._minio.secret_key,
            "AWS_REGION": "us-east-1",
        }

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/v1/config", timeout=2) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False
