"""How a catalog is logged in to."""

from collections.abc import Mapping

from logpersister.manifest.secrets import Secrets, SecretValue
from logpersister.manifest.table import CatalogSpec


def catalog_login(spec: CatalogSpec, secrets: Secrets) -> Mapping[str, SecretValue]:
    """Return what the Secret of a catalog has: `token` or `credential`, or `username` and `password`.

    Raises ManifestError where something is missing.
    """
    if spec.secret_name is None:
        return {}
    path = "spec.table.catalog.secretName"
    if spec.type == "sql":
        return {name: secrets.require(spec.secret_name, name, path) for name in ("username", "password")}
    credential = secrets.get(spec.secret_name, "credential")
    if credential is not None:
        return {"credential": credential}
    return {"token": secrets.require(spec.secret_name, "token", path)}
