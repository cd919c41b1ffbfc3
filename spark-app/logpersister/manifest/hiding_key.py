"""The key by which fields are hashed."""

import hashlib
import hmac
from collections.abc import Iterable
from typing import Final

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.secrets import Secrets, SecretValue
from logpersister.values.hiding import HashSpec
from logpersister.values.row_schema import RowSchema

KEY: Final = "key"
LEAST_CHARACTERS: Final = 16
"""Shortest key; shorter ones can be guessed from hashes of known texts."""
_PATH: Final = "spec.value.hash.secretName"


def key_of(hashed: HashSpec, secrets: Secrets) -> SecretValue:
    """Return the key. Raises ManifestError when it is not there, or too short."""
    key = secrets.require(hashed.secret_name, KEY, _PATH)
    if len(key.reveal()) < LEAST_CHARACTERS:
        problem = f"names the Secret {hashed.secret_name}, whose {KEY} has less than {LEAST_CHARACTERS} characters"
        raise ManifestError([Problem(_PATH, problem, "take a random one, for example of `openssl rand -hex 32`")])
    return key


def fingerprint(hashed: HashSpec, secrets: Secrets) -> str:
    """Return what stands for the key where it must be recognised, and tells nothing of it; `none` where it is not."""
    key = secrets.get(hashed.secret_name, KEY)
    if key is None:
        return "none"
    return hmac.new(key.reveal().encode(), b"logpersister: which key", hashlib.sha256).hexdigest()[:12]


def check_keys(schemas: Iterable[RowSchema], secrets: Secrets) -> list[str]:
    """Return the names of the Secrets whose keys are there. Raises ManifestError for the first one that is not."""
    hashed = dict.fromkeys(one.hash for one in schemas if one.hash is not None)
    for one in hashed:
        key_of(one, secrets)
    return list(dict.fromkeys(one.secret_name for one in hashed))
