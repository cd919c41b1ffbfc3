"""A SeaweedFS server, on loopback unless told otherwise: the S3 of `make demo` and `make stack`, fetched in seconds.

MinIO is the reference that tests compare with; this one is for first looks.
"""

from collections.abc import Mapping, Sequence

from tests.stack import artifacts
from tests.stack.ports import free_port, is_free
from tests.stack.s3 import S3Server
from tests.stack.server import answers

_ADMIN_GRPC_OFFSET = 10_000
"""A worker of the server looks for the admin server's second port there, whatever the options say."""


class SeaweedServer(S3Server):
    """All of SeaweedFS in one process, with its buckets in ``directory``; restarts keep S3's port, keys and data."""

    name = "seaweedfs"

    def _command(self) -> Sequence[str]:
        data = self.directory / "data"
        data.mkdir(exist_ok=True)
        return [
            str(artifacts.seaweedfs_binary()),
            "mini",
            f"-dir={data}",
            f"-ip={self.host}",
            f"-ip.bind={self.host}",
            f"-s3.port={self.port}",
            # What is not S3 is nobody's business, and where it listens may change from start to start.
            *(f"-{one}={free_port()}" for one in ("s3.port.grpc", "master.port", "master.port.grpc")),
            *(f"-{one}={free_port()}" for one in ("volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc")),
            f"-admin.port={_admin_port()}",
            "-volume.id=local",
            f"-s3.localSocket={self.directory / 's3.sock'}",
            f"-filer.localSocket={self.directory / 'filer.sock'}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            "-s3.autoCreateBucket=false",  # a bucket that is not there is an error, as it is in S3
            "-webdav=false",
            "-admin.ui=false",
            "-master.telemetry=false",  # on by default: it tells its makers about the cluster
        ]

    def _environment(self) -> Mapping[str, str]:
        return {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}

    def _serves(self) -> bool:
        return answers(f"{self.endpoint}/healthz")


def _admin_port() -> int:
    return next(port for port in iter(free_port, None) if is_free(port + _ADMIN_GRPC_OFFSET))
