"""The Secrets that a resource names: are they there, have they changed, what do they hold for Kafka."""

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from logpersister.manifest.secrets import Secrets, variable_name
from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.kinds import SECRET, Document
from logpersister_operator.observed_state import SecretsSeen

_DIGEST_COST = 2**12
"""Of scrypt: some 10 ms. The digest stands in pods' annotations, so guessing a password by it must be expensive."""


@dataclass(frozen=True, slots=True)
class SecretsRead:
    """Secrets as they are now."""

    seen: SecretsSeen
    values: Mapping[str, str] = field(repr=False)
    """As environment variables, for `Secrets`; never shown."""

    def secrets(self) -> Secrets:
        return Secrets(self.values)


def read_secrets(cluster: Cluster, namespace: str, names: Sequence[str]) -> SecretsRead:
    """Read all Secrets of these names; raises ClusterError."""
    found = {name: cluster.get(SECRET, namespace, name) for name in names}
    missing = tuple(f"Secret {name}" for name, secret in found.items() if secret is None)
    present = {name: secret for name, secret in found.items() if secret is not None}
    return SecretsRead(SecretsSeen(_digest(present), missing), _values(present))


def _values(secrets: Mapping[str, Document]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, secret in secrets.items():
        for key, encoded in (secret.get("data") or {}).items():
            try:
                values[variable_name(name, key)] = base64.b64decode(encoded).decode()
            except (binascii.Error, UnicodeDecodeError):
                continue  # none that we use: those are text
    return values


def _digest(secrets: Mapping[str, Document]) -> str:
    if not secrets:
        return ""
    content = json.dumps({name: secret.get("data") or {} for name, secret in secrets.items()}, sort_keys=True)
    salt = json.dumps({name: secret["metadata"]["uid"] for name, secret in secrets.items()}, sort_keys=True)
    digest = hashlib.scrypt(content.encode(), salt=salt.encode(), n=_DIGEST_COST, r=8, p=1, dklen=16)
    return digest.hex()
