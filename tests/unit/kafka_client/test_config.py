"""Keyword arguments for kafka-python: what is in them, and that no secret can be seen in them."""

import copy
import json
import logging
import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient
from kafka.net.sasl import get_sasl_mechanism

from logpersister.kafka_client import client_config
from logpersister.kafka_client.tls import ssl_context
from logpersister.manifest import ManifestError
from logpersister.manifest.blocks.kafka import KafkaSpec, Mechanism, Protocol, SecuritySpec
from logpersister.manifest.secrets import Secrets
from tests.stack.tls import Certificates

SECRET = "hunter2-very-secret"
USER = "o=mallet,jr"


def kafka(protocol: Protocol = "PLAINTEXT", mechanism: Mechanism | None = None, secret: str | None = None) -> KafkaSpec:
    security = SecuritySpec(protocol=protocol, mechanism=mechanism, secret_name=secret)
    return KafkaSpec(bootstrap_servers="a:1, [::1]:2", topics=("t",), security=security)


def secrets(**values: str) -> Secrets:
    return Secrets({f"LOGPERSISTER_SECRET_K_{key.upper()}": value for key, value in values.items()})


def tls_secrets(directory: Path, certificates: Certificates) -> Secrets:
    certificates.write_secret(directory, "k")
    return Secrets({"LOGPERSISTER_SECRETS_DIR": str(directory)})


def test_every_client_takes_all_of_it(tmp_path: Path, certificates: Certificates) -> None:
    found = tls_secrets(tmp_path, certificates)
    for key, value in (("username", USER), ("password", SECRET)):
        (tmp_path / "k" / key).write_text(value)
    config = client_config(kafka("SASL_SSL", "PLAIN", "k"), found)
    assert set(config) <= set(KafkaConsumer.DEFAULT_CONFIG)
    assert set(config) <= set(KafkaAdminClient.DEFAULT_CONFIG)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_passwords_stay_wrapped_until_they_are_sent(mechanism: Mechanism) -> None:
    config = client_config(kafka("SASL_PLAINTEXT", mechanism, "k"), secrets(username=USER, password=SECRET))
    for shown in (repr(config), str(config), f"{config}", repr(list(config.values())), repr(copy.copy(config))):
        assert SECRET not in shown
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(config)
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(config)
    sent = get_sasl_mechanism(mechanism)(host="a", **config).auth_bytes()
    expected = f"\0{USER}\0{SECRET}".encode() if mechanism == "PLAIN" else b"n,,n=o=3Dmallet=2Cjr,r="
    assert expected in sent


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_the_next_login_uses_a_rotated_secret(mechanism: Mechanism, tmp_path: Path) -> None:
    """Clients keep their configuration for as long as a member lives."""
    secret = tmp_path / "k"
    secret.mkdir()
    (secret / "username").write_text("first")
    (secret / "password").write_text("one")
    found = Secrets({"LOGPERSISTER_SECRETS_DIR": str(tmp_path)})
    config = copy.copy(client_config(kafka("SASL_PLAINTEXT", mechanism, "k"), found))
    (secret / "username").write_text("second")
    (secret / "password").write_text("two")
    login = get_sasl_mechanism(mechanism)(host="a", **config)
    assert (login.username, getattr(login, "password", "two")) == ("second", "two")
    (secret / "password").unlink()
    assert get_sasl_mechanism(mechanism)(host="a", **config).username == "second", "half of it is there: as it was"


@pytest.mark.parametrize("key", ["username", "password"])
def test_a_missing_key_is_named(key: str) -> None:
    found = {"username": USER, "password": SECRET}
    del found[key]
    with pytest.raises(ManifestError, match=f"names the Secret k, whose key {key} was not found") as caught:
        client_config(kafka("SASL_PLAINTEXT", "PLAIN", "k"), secrets(**found))
    assert SECRET not in str(caught.value)


def test_requests_are_never_logged() -> None:
    logger = logging.getLogger("kafka")
    before = logger.level
    try:
        logger.setLevel(logging.DEBUG)
        client_config(kafka(), Secrets({}))
        assert not logger.isEnabledFor(logging.DEBUG)
        assert not logging.getLogger("kafka.net.connection").isEnabledFor(logging.DEBUG)
        logger.setLevel(logging.WARNING)
        client_config(kafka(), Secrets({}))
        assert logger.level == logging.WARNING
    finally:
        logger.setLevel(before)


def _encrypted(path: Path) -> str:
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(SECRET.encode()),
    ).decode()


def test_unusable_certificates_are_named(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, certificates: Certificates
) -> None:
    """By what is changed in the Secret; None: the key is missing."""
    other = Certificates(tmp_path_factory.mktemp("other"))
    unusable: dict[str, tuple[str, str | None]] = {
        "ca.crt is not a certificate in PEM": ("ca.crt", SECRET),
        "has tls.crt but no tls.key": ("tls.key", None),
        "has tls.key but no tls.crt": ("tls.crt", None),
        "tls.crt or tls.key is not PEM": ("tls.crt", SECRET),
        "tls.key is encrypted": ("tls.key", _encrypted(certificates.client_key)),
        "tls.key does not belong to its tls.crt": ("tls.key", other.client_key.read_text()),
    }
    for place, (expected, (key, value)) in enumerate(unusable.items()):
        found = tls_secrets(tmp_path / str(place), certificates)
        file = tmp_path / str(place) / "k" / key
        file.unlink() if value is None else file.write_text(value)
        with pytest.raises(ManifestError) as caught:
            ssl_context(SecuritySpec(protocol="SSL", secret_name="k"), found)
        assert expected in str(caught.value)
        assert str(caught.value).startswith("spec.kafka.security.secretName: names ")
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None
