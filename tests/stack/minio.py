"""A MinIO server, on loopback unless told otherwise: the S3 of tests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3

from tests.stack import artifacts
from tests.stack.ports import LOOPBACK
from tests.stack.s3 import S3Server
from tests.stack.server import answers

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class MinioServer(S3Server):
    """MinIO with its buckets in ``directory``; restarts keep port, keys and data."""

    name = "minio"

    def __init__(
        self, directory: Path, *, port: int | None = None, host: str = LOOPBACK, optimised: bool = False
    ) -> None:
        """Prepare one; ``optimised``: of the build of which a bench may count the CPU time."""
        super().__init__(directory, port=port, host=host)
        self._binary = artifacts.minio_binary(optimised=optimised)

    def keys_for(self, *statements: Mapping[str, Any]) -> dict[str, str]:
        """Return temporary keys that may only what the statements of a policy say, as a Secret holds them."""
        policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
        client = boto3.client(
            "sts",
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=self.secret_key,
            verify=str(self.authority) if self.authority else None,
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

    @staticmethod
    def drop(client: "S3Client", bucket: str) -> None:
        """Delete a bucket with everything in it, which is one request to MinIO."""
        event = "before-call.s3.DeleteBucket"
        client.meta.events.register(event, _with_all_objects)
        try:
            client.delete_bucket(Bucket=bucket)
        finally:
            client.meta.events.unregister(event, _with_all_objects)

    def _command(self) -> Sequence[str]:
        data = self.directory / "data"
        data.mkdir(exist_ok=True)
        address = f"{self.host}:{self.port}"
        return [str(self._binary), "server", "--quiet", "--address", address, str(data)]

    def _environment(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.directory),  # where it makes .minio
            "MINIO_ROOT_USER": self.access_key,
            "MINIO_ROOT_PASSWORD": self.secret_key,
            "MINIO_REGION_NAME": self.region,
            "MINIO_BROWSER": "off",
            "MINIO_UPDATE": "off",  # never asks the network for newer versions
        }

    def _serves(self) -> bool:
        return answers(f"{self.endpoint}/minio/health/ready")


def _with_all_objects(params: dict[str, Any], **_: Any) -> None:
    params["headers"]["x-minio-force-delete"] = "true"
