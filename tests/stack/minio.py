"""A MinIO server, on loopback unless told otherwise: the S3 of tests and of the demo."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from tests.stack import artifacts
from tests.stack.ports import LOOPBACK
from tests.stack.server import START_TIMEOUT, Server

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class MinioServer(Server):
    """MinIO with its buckets in ``directory``; restarts keep port, keys and data.

    The keys are made up and good for nothing else, so they may be the same everywhere.
    """

    name = "minio"
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

    def keys_for(self, *statements: Mapping[str, Any]) -> dict[str, str]:
        """Return temporary keys that may only what the statements of a policy say, as a Secret holds them."""
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        client = boto3.client(
            "sts",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
        )
        # MinIO asks for a role and ignores it: the keys are ours, with less rights.
        made = client.assume_role(RoleArn="arn:aws:iam::minio:role/any", RoleSessionName="any", Policy=policy)
        client.close()
        keys = made["Credentials"]
        return {
            "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
            "AWS_SESSION_TOKEN": keys["SessionToken"],
        }

    def write_secret(self, secrets_dir: Path, name: str = "s3") -> Path:
        """Write the keys as the mounted Secret ``name``, the way a manifest's ``secretName`` finds them."""
        secret = secrets_dir / name
        secret.mkdir(parents=True, exist_ok=True)
        (secret / "AWS_ACCESS_KEY_ID").write_text(self.access_key)
        (secret / "AWS_SECRET_ACCESS_KEY").write_text(self.secret_key)
        return secret

    def _command(self) -> Sequence[str]:
        data = self.directory / "data"
        data.mkdir(exist_ok=True)
        address = f"{self.host}:{self.port}"
        return [str(artifacts.minio_binary()), "server", "--quiet", "--address", address, str(data)]

    def _environment(self) -> Mapping[str, str]:
        return {
            "MINIO_ROOT_USER": self.access_key,
            "MINIO_ROOT_PASSWORD": self.secret_key,
            "MINIO_REGION_NAME": self.region,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",  # never asks the network for newer versions
        }

    def _serves(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.endpoint}/minio/health/ready", timeout=2) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False
