"""How a catalog is logged in to."""

import re
from collections.abc import Mapping
from typing import Final

from logpersister.manifest.problems import ManifestError, Problem
from logpersister.manifest.secrets import Secrets, SecretValue
from logpersister.manifest.table import CatalogSpec

_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)


def catalog_login(spec: CatalogSpec, secrets: Secrets) -> Mapping[str, SecretValue]:
    """Return what the Secret of a catalog has: `token` or `credential`, or `username` and `password`.

    Raises ManifestError where something is missing, or a token is none: libraries show whole what they cannot send.
    """
    if spec.secret_name is None:
        return {}
    path = "spec.table.catalog.secretName"
    if spec.type == "sql":
        return {name: secrets.require(spec.secret_name, name, path) for name in ("username", "password")}
    credential = secrets.get(spec.secret_name, "credential")
    if credential is not None:
        return {"credential": credential}
    token = secrets.require(spec.secret_name, "token", path)
    if not _TOKEN.fullmatch(token.reveal()):
        told = f"names the Secret {spec.secret_name}, whose key token has characters that no header can have"
        raise ManifestError([Problem(path, told, "put the token in it, in one line and without spaces")])
    return {"token": token}
