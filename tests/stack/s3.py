"""What all S3 servers of the stack have in common: an address, keys, a client, and the keys as a mounted Secret."""

from pathlib import Path
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from tests.stack.ports import LOOPBACK
from tests.stack.room import require_room
from tests.stack.server import START_TIMEOUT, Server

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class S3Server(Server):
    """An S3 server with its buckets in ``directory``.

    The keys are made up and good for nothing else, so they may be the same everywhere.
    """

    region = "us-east-1"
    access_key = "logpersister"
    secret_key = "logpersister-secret"

    def __init__(self, directory: Path, *, port: int | None = None, host: str = LOOPBACK) -> None:
        super().__init__(directory, port=port)
        self.host = host

    @property
    def endpoint(self) -> str:
        """URL for S3 clients (path style)."""
        return f"http://{self.host}:{self.port}"

    def launch(self, *, detached: bool = False) -> None:
        """Start the process as `Server.launch` does, where the disk has room for it."""
        require_room(self.directory)
        super().launch(detached=detached)

    def start(self, timeout: float = START_TIMEOUT) -> str:
        """Start, wait until it serves, return the endpoint."""
        self.launch()
        self.wait(timeout)
        return self.endpoint

    authority: Path | None = None
    """PEM of who signed its certificate, where it speaks TLS."""

    def client(self) -> "S3Client":
        """Return boto3's client of this server; the caller closes it."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            verify=str(self.authority) if self.authority else None,
            config=Config(s3={"addressing_style": "path"}, retries={"mode": "standard", "max_attempts": 5}),
        )

    def write_secret(self, secrets_dir: Path, name: str = "s3") -> Path:
        """Write the keys as the mounted Secret ``name``, the way a manifest's ``secretName`` finds them."""
        secret = secrets_dir / name
        secret.mkdir(parents=True, exist_ok=True)
        (secret / "AWS_ACCESS_KEY_ID").write_text(self.access_key)
        (secret / "AWS_SECRET_ACCESS_KEY").write_text(self.secret_key)
        return secret
