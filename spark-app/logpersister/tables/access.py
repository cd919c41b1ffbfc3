"""Login to a catalog."""

import re
from collections.abc import Mapping
from typing import Final

from logpersister.forms.problems import ManifestError, Problem
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.blocks.table import CatalogSpec
from logpersister.manifest.secrets import AwsKeys, Secrets, SecretValue, aws_keys, storage_credentials

_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)


_FIELD: Final = "spec.table.catalog.secretName"


def glue_credentials(spec: CatalogSpec, storage: StorageSpec, secrets: Secrets) -> AwsKeys | None:
    """Return the keys for Glue: those of its Secret, or of the bucket's; None: the SDK's own chain, or another type.

    Raises ManifestError where something is missing.
    """
    if spec.type != "glue":
        return None
    if spec.secret_name is not None:
        return aws_keys(spec.secret_name, secrets, _FIELD)
    return storage_credentials(storage, secrets)


def catalog_login(spec: CatalogSpec, secrets: Secrets) -> Mapping[str, SecretValue]:
    """Return what the Secret of a catalog has: `token` or `credential`, or `username` and `password`.

    Raises ManifestError where something is missing, or a token is none: libraries show whole what they cannot send.
    """
    if spec.secret_name is None or spec.is_metastore:
        return {}
    path = _FIELD
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
