"""The Secrets that a resource names: are they there, have they changed, what do they hold for Kafka."""

import base64
import binascii
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from logpersister.manifest.secrets import Secrets, variable_name
from logpersister_operator.cluster.client import Cluster
from logpersister_operator.cluster.kinds import SECRET, Document
from logpersister_operator.observed_state import SecretsSeen

MISSING_SECONDS: Final = 5.0
"""How soon a Secret that is missing is looked for again: somebody is about to create it."""
_DIGEST_COST = 2**12
"""Cost of scrypt: 10 ms. The digest stands in pods' annotations, so guessing a password by it must be expensive."""


@dataclass(frozen=True, slots=True)
class SecretsRead:
    """Secrets as they are now."""

    seen: SecretsSeen
    values: Mapping[str, str] = field(repr=False)
    """Environment variables for `Secrets`; never shown."""

    def secrets(self) -> Secrets:
        return Secrets(self.values)


def read_secrets(cluster: Cluster, namespace: str, names: Sequence[str]) -> SecretsRead:
    """Read all Secrets of these names; raises ClusterError."""
    found = {name: cluster.get(SECRET, namespace, name) for name in names}
    missing = tuple(f"Secret {name}" for name, secret in found.items() if secret is None)
    present = {name: secret for name, secret in found.items() if secret is not None}
    return SecretsRead(SecretsSeen(_digest(present), missing), _values(present))


class SecretCache:
    """The Secrets of one resource. They are read again when they are old, or when other ones are asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.latest: SecretsRead | None = None
        self._clock = clock
        self._names: tuple[str, ...] = ()
        self._until = 0.0

    def read(self, cluster: Cluster, namespace: str, names: Sequence[str], seconds: float) -> SecretsRead:
        """Return the Secrets of these names, read at most ``seconds`` ago; raises ClusterError."""
        now, wanted = self._clock(), tuple(names)
        if self.latest is None or self._names != wanted or now >= self._until:
            self.latest = read_secrets(cluster, namespace, wanted)
            self._names = wanted
            self._until = now + (MISSING_SECONDS if self.latest.seen.missing else seconds)
        return self.latest

    @property
    def seconds_left(self) -> float:
        """Seconds until the Secrets have to be read again; infinite for a resource that names none."""
        return max(0.0, self._until - self._clock()) if self._names else math.inf


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
