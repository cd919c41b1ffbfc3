"""A Hive metastore, whose tables are known in a database of its own process: a restart forgets them, or does not."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.stack import artifacts
from tests.stack.minio import MinioServer
from tests.stack.ports import LOOPBACK
from tests.stack.scratch import of_java
from tests.stack.server import Server, accepts

_PROGRAM = Path(__file__).with_name("HiveMetastore.java")


def s3a(minio: MinioServer) -> Mapping[str, str]:
    """Return the settings by which Hadoop's S3A reads and writes on a server."""
    return {
        "fs.s3a.endpoint": minio.endpoint,
        "fs.s3a.endpoint.region": minio.region,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.access.key": minio.access_key,
        "fs.s3a.secret.key": minio.secret_key,
        "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


class HiveMetastore(Server):
    """A metastore with the database `default`; four seconds to start, 270 MB."""

    name = "hive"

    def __init__(self, directory: Path, minio: MinioServer, *, port: int | None = None, durable: bool = False) -> None:
        """Prepare one; ``durable``: it knows its tables after it was killed, too, and starts more slowly."""
        super().__init__(directory, port=port)
        self._minio = minio
        self._database = f"{directory / 'database'}" if durable else "memory:metastore"

    @property
    def uri(self) -> str:
        """What `spec.table.catalog.uri` is set to."""
        return f"thrift://{LOOPBACK}:{self.port}"

    def _command(self) -> Sequence[str]:
        jvm = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        classes = "org.apache.hadoop.hive.metastore"
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:{self._database};create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
            "datanucleus.connectionPoolingType": "dbcp",
            "datanucleus.schema.autoCreateAll": "true",
            "metastore.schema.verification": "false",
            "metastore.warehouse.dir": str(self.directory / "warehouse"),
            # These two are in Hive by default, which is not here.
            "metastore.expression.proxy": f"{classes}.DefaultPartitionExpressionProxy",
            "metastore.task.threads.always": f"{classes}.events.EventCleanerTask",
            **s3a(self._minio),
        }
        program = [artifacts.java(), *jvm, of_java(self.temporary), "-cp", artifacts.hive_classpath(), str(_PROGRAM)]
        return [*program, LOOPBACK, str(self.port), *(f"{name}={value}" for name, value in settings.items())]

    def _serves(self) -> bool:
        return accepts(self.port)
