"""Secrets as Strimzi's operators write them for a ``Kafka`` named main and its ``KafkaUser``s, key by key."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from tests.stack.authority import Authority
from tests.stack.tls import Certificates

CLUSTER_CA: Final = "main-cluster-ca-cert"
_ARCHIVE_PASSWORD: Final = b"archive-password"

SecretData = Mapping[str, bytes]


def cluster_ca(certificates: Certificates) -> SecretData:
    """Of ``<cluster>-cluster-ca-cert``: the authority of the brokers."""
    authority = certificates.authority.read_bytes()
    archive = pkcs12.serialize_key_and_certificates(
        b"ca", None, None, [x509.load_pem_x509_certificate(authority)], _encryption()
    )
    return {"ca.crt": authority, "ca.p12": archive, "ca.password": _ARCHIVE_PASSWORD}


def tls_user(certificates: Certificates) -> SecretData:
    """Of a ``KafkaUser`` with ``authentication: {type: tls}``; its ``ca.crt`` says nothing about brokers."""
    certificate, key = certificates.client_certificate.read_bytes(), certificates.client_key.read_bytes()
    private = serialization.load_pem_private_key(key, None)
    archive = pkcs12.serialize_key_and_certificates(
        b"user",
        private,  # type: ignore[arg-type]  # any kind of key, of which this is one
        x509.load_pem_x509_certificate(certificate),
        None,
        _encryption(),
    )
    return {
        "ca.crt": Authority("clients-ca").certificate,
        "user.crt": certificate,
        "user.key": key,
        "user.p12": archive,
        "user.password": _ARCHIVE_PASSWORD,
    }


def scram_user(user: str, password: str) -> SecretData:
    """Of a ``KafkaUser`` with ``authentication: {type: scram-sha-512}``: no key holds the name alone."""
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    jaas = f'{module} required username="{user}" password="{password}";'
    return {"password": password.encode(), "sasl.jaas.config": jaas.encode()}


def write(secrets_dir: Path, name: str, data: SecretData) -> None:
    """Write it as Kubernetes mounts it."""
    folder = secrets_dir / name
    folder.mkdir(parents=True)
    for key, value in data.items():
        (folder / key).write_bytes(value)


def _encryption() -> serialization.KeySerializationEncryption:
    return serialization.BestAvailableEncryption(_ARCHIVE_PASSWORD)
