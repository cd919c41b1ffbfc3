"""Certificates of a broker and its clients, in PEM files."""

from pathlib import Path

from tests.stack.authority import Authority


class Certificates:
    """Made in ``directory`` when they are not there yet.

    The broker's certificate is for ``localhost`` and 127.0.0.1.
    """

    def __init__(self, directory: Path) -> None:
        self.authority = directory / "ca.pem"
        self.broker = directory / "broker.pem"
        """Private key and certificate chain in one file, as Kafka's PEM key store wants it."""
        self.client_certificate = directory / "client.crt.pem"
        self.client_key = directory / "client.key.pem"
        if not self.client_key.exists():
            self._make(directory)

    def write_secret(self, secrets_dir: Path, name: str) -> Path:
        """Write authority and client certificate as the mounted Secret ``name`` (keys as in a TLS Secret)."""
        secret = secrets_dir / name
        secret.mkdir(parents=True, exist_ok=True)
        for key, path in (
            ("ca.crt", self.authority),
            ("tls.crt", self.client_certificate),
            ("tls.key", self.client_key),
        ):
            (secret / key).write_bytes(path.read_bytes())
        return secret

    def _make(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        authority = Authority("LogPersister test authority")
        self.authority.write_bytes(authority.certificate)
        broker_key, broker = authority.server("localhost")
        self.broker.write_bytes(broker_key + broker + authority.certificate)
        client_key, client = authority.client("client")
        self.client_certificate.write_bytes(client)
        self.client_key.write_bytes(client_key)  # last: its presence says that all are there
