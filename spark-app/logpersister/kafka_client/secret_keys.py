"""Keys of Secrets and what they hold: names of our own, or those of a Strimzi ``KafkaUser``, as they are.

Strimzi's User Operator writes ``user.crt``, ``user.key`` and ``ca.crt`` for TLS, ``password`` and ``sasl.jaas.config``
for SCRAM (its documentation: *Configuring user authentication*). There ``ca.crt`` is the authority of clients: brokers
check clients by it. That of the brokers is in the Secret ``<cluster>-cluster-ca-cert``, which ``caSecretName`` names.
"""

import re
from dataclasses import dataclass
from typing import Final

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.blocks.kafka import SecuritySpec
from logpersister.manifest.secrets import AUTHORITY, Secrets, SecretValue

PATH: Final = "spec.kafka.security.secretName"
CA_PATH: Final = "spec.kafka.security.caSecretName"
_JAAS: Final = "sasl.jaas.config"
_OWN, _STRIMZI = ("tls.crt", "tls.key"), ("user.crt", "user.key")
_OPTION: Final = re.compile(r'\b(?P<name>username|password)\s*=\s*"(?P<value>(?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Identity:
    """A client certificate and its key as PEM, and under which keys of the Secret they are."""

    certificate: SecretValue
    key: SecretValue
    names: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials of a login by PLAIN or SCRAM."""

    user: SecretValue
    password: SecretValue


def identity(security: SecuritySpec, secrets: Secrets) -> Identity | None:
    """Return the client certificate; None without one. Raises `ManifestError` for half a pair."""
    name = security.secret_name
    if name is None:
        return None
    for names in (_OWN, _STRIMZI):
        certificate, key = (secrets.get(name, one) for one in names)
        if certificate is not None and key is not None:
            return Identity(certificate, key, names)
        if certificate is not None or key is not None:
            there, missing = names if certificate is not None else (names[1], names[0])
            problem = Problem(
                PATH, f"names the Secret {name}, which has {there} but no {missing}", "add it, or remove both"
            )
            raise ManifestError([problem])
    return None


def authority(security: SecuritySpec, secrets: Secrets) -> str | None:
    """Return the brokers' authority as PEM; None: the public ones. Raises `ManifestError`."""
    if security.ca_secret_name is not None:
        secrets.require(security.ca_secret_name, AUTHORITY, CA_PATH)
        return secrets.authority(security.ca_secret_name, CA_PATH)
    name = security.secret_name
    if name is None or any(secrets.get(name, key) is not None for key in _STRIMZI):
        return None  # what a KafkaUser has is the authority of clients
    return secrets.authority(name, PATH)


def login(name: str, secrets: Secrets) -> Login:
    """Return user and password in the Secret ``name``; raises `ManifestError` naming the key that it lacks."""
    jaas = secrets.get(name, _JAAS)
    if jaas is None or secrets.get(name, "username") is not None:
        return Login(secrets.require(name, "username", PATH), secrets.require(name, "password", PATH))
    options = jaas_options(jaas.reveal())
    password = secrets.get(name, "password")
    if password is not None:  # as it is: Strimzi does not escape it in the other key
        options["password"] = password.reveal()
    for option in ("username", "password"):
        if not options.get(option):
            expectation = f"names the Secret {name}, whose key {_JAAS} has no {option}"
            remedy = f'put {option}="…" there, or add the keys username and password'
            raise ManifestError([Problem(PATH, expectation, remedy)])
    return Login(*(SecretValue(options[option], f"{name}/{_JAAS}") for option in ("username", "password")))


def jaas_options(text: str) -> dict[str, str]:
    """Return ``username`` and ``password`` of a login module's line, ``… required username="a" password="b";``."""
    return {found["name"]: re.sub(r"\\(.)", r"\1", found["value"]) for found in _OPTION.finditer(text)}
