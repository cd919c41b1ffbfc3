"""An S3 server that speaks TLS only, with a certificate of its own authority, and that can encrypt what it stores."""

import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.stack import MinioServer
from tests.stack.ports import LOOPBACK
from tests.stack.tls import Certificates

KMS_KEY = "test-key"
_KMS_SECRET = "OSMM+vkKUTCvQs9YL/CVMIMt43HFhkUpqJxTmGl6rYw="
"""32 bytes in base64; made up, as all secrets of the tests."""


class SecuredMinio(MinioServer):
    """MinIO behind https, with one key for server-side encryption."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.certificates = Certificates(directory / "tls")
        self.authority = self.certificates.authority

    @property
    def endpoint(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    def write_secret(self, secrets_dir: Path, name: str = "s3") -> Path:
        """Write keys and authority as one Secret, to be named by ``secretName`` and ``caSecretName``."""
        secret = super().write_secret(secrets_dir, name)
        (secret / "ca.crt").write_bytes(self.certificates.authority.read_bytes())
        return secret

    def _command(self) -> Sequence[str]:
        folder = self.directory / "certs"
        folder.mkdir(exist_ok=True)
        key, begin, chain = self.certificates.broker.read_text().partition("-----BEGIN CERTIFICATE-----")
        (folder / "private.key").write_text(key)
        (folder / "public.crt").write_text(begin + chain)
        return [*super()._command(), "--certs-dir", str(folder)]

    def _environment(self) -> Mapping[str, str]:
        return {**super()._environment(), "MINIO_KMS_SECRET_KEY": f"{KMS_KEY}:{_KMS_SECRET}"}

    def _serves(self) -> bool:
        trust = ssl.create_default_context(cafile=str(self.certificates.authority))
        try:
            with urllib.request.urlopen(f"{self.endpoint}/minio/health/ready", timeout=2, context=trust) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, OSError):
            return False
