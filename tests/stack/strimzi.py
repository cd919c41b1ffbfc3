"""Secrets as Strimzi's operators write them for a ``Kafka`` named main and its ``KafkaUser``s, without PKCS #12."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.stack.authority import Authority
from tests.stack.tls import Certificates

CLUSTER_CA: Final = "main-cluster-ca-cert"

SecretData = Mapping[str, bytes]


def cluster_ca(certificates: Certificates) -> SecretData:
    """Of ``<cluster>-cluster-ca-cert``: the authority of the brokers."""
    return {"ca.crt": certificates.authority.read_bytes()}


def tls_user(certificates: Certificates) -> SecretData:
    """Of a ``KafkaUser`` with ``authentication: {type: tls}``; its ``ca.crt`` says nothing about brokers."""
    return {
        "ca.crt": Authority("clients-ca").certificate,
        "user.crt": certificates.client_certificate.read_bytes(),
        "user.key": certificates.client_key.read_bytes(),
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
