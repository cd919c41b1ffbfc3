"""SASL with passwords that stay wrapped until they are sent, as the Secret has them then, and tokens fetched in time.

kafka-python keeps passwords in its configuration and prints it at DEBUG. So the configuration holds `CurrentSecret`s,
and its mechanisms are registered anew here to unwrap them, which its registry is for.
"""

from functools import partial
from typing import Any

from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.oauth import SaslMechanismOAuth
from kafka.net.sasl.plain import SaslMechanismPlain
from kafka.net.sasl.scram import SaslMechanismScram

from logpersister.kafka_client import secret_keys
from logpersister.kafka_client.oauth import ClientCredentials, token_provider
from logpersister.manifest.blocks.kafka import SecuritySpec
from logpersister.manifest.secrets import CurrentSecret, Secrets


def login_config(security: SecuritySpec, secrets: Secrets) -> dict[str, Any]:
    """Return the ``sasl_*`` arguments; raise `ManifestError` when the Secret lacks a key."""
    if security.secret_name is None or security.mechanism is None:
        raise ValueError("the model lets no SASL through without mechanism and secretName")
    config: dict[str, Any] = {"sasl_mechanism": security.mechanism}
    if security.mechanism == "OAUTHBEARER":
        config["sasl_oauth_token_provider"] = token_provider(security.secret_name, secrets, security.ca_secret_name)
    else:
        read = partial(secret_keys.login, security.secret_name, secrets)
        config["sasl_plain_username"] = CurrentSecret(lambda: read().user)
        config["sasl_plain_password"] = CurrentSecret(lambda: read().password)
    return config


def _revealed(config: dict[str, Any]) -> dict[str, Any]:
    names = ("sasl_plain_username", "sasl_plain_password")
    return config | {name: config[name].reveal() for name in names if isinstance(config.get(name), CurrentSecret)}


class Plain(SaslMechanismPlain):  # type: ignore[misc]
    """PLAIN (RFC 4616)."""

    def __init__(self, **config: Any) -> None:
        super().__init__(**_revealed(config))


class Scram(SaslMechanismScram):  # type: ignore[misc]
    """SCRAM (RFC 5802), whose user names must have ``=`` and ``,`` escaped; kafka-python does not."""

    def __init__(self, **config: Any) -> None:
        revealed = _revealed(config)
        user = revealed["sasl_plain_username"].replace("=", "=3D").replace(",", "=2C")
        super().__init__(**revealed | {"sasl_plain_username": user})


class OAuth(SaslMechanismOAuth):  # type: ignore[misc]
    """OAUTHBEARER (RFC 7628). A token that a broker refuses, such as by keys that were rotated, is kept no longer."""

    def receive(self, auth_bytes: bytes) -> None:
        if auth_bytes and isinstance(self.token_provider, ClientCredentials):
            self.token_provider.refused()
        super().receive(auth_bytes)


register_sasl_mechanism("PLAIN", Plain, overwrite=True)
register_sasl_mechanism("SCRAM-SHA-256", Scram, overwrite=True)
register_sasl_mechanism("SCRAM-SHA-512", Scram, overwrite=True)
register_sasl_mechanism("OAUTHBEARER", OAuth, overwrite=True)
