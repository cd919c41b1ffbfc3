"""A certificate authority of its own with a broker's and a client's certificate, in PEM files."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = datetime.timedelta(days=30)


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
        authority_key = ec.generate_private_key(ec.SECP256R1())
        authority_name = _name("LogPersister test authority")
        authority = (
            _builder(authority_name, authority_name, authority_key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        self.authority.write_bytes(_certificate_pem(authority))

        def issue(name: str, usage: x509.ObjectIdentifier) -> tuple[bytes, bytes]:
            key = ec.generate_private_key(ec.SECP256R1())
            certificate = (
                _builder(_name(name), authority_name, key)
                .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
                .add_extension(_key_usage(signs_certificates=False), critical=True)
                .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
                .add_extension(
                    x509.SubjectAlternativeName(
                        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
                    ),
                    critical=False,
                )
                .add_extension(
                    x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
                )
                .sign(authority_key, hashes.SHA256())
            )
            return _key_pem(key), _certificate_pem(certificate)

        broker_key, broker = issue("localhost", ExtendedKeyUsageOID.SERVER_AUTH)
        self.broker.write_bytes(broker_key + broker + _certificate_pem(authority))
        client_key, client = issue("client", ExtendedKeyUsageOID.CLIENT_AUTH)
        self.client_certificate.write_bytes(client)
        self.client_key.write_bytes(client_key)  # last: its presence says that all are there


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + _VALID)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
