"""Address of a schema registry and credentials for it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field

from logpersister.manifest.secrets import Secrets

TOKEN, USERNAME, PASSWORD = "token", "username", "password"


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """An address with credentials. Not for closures of Spark: it holds secrets."""

    url: str
    """Address as the manifest has it: one, or several with commas."""
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    authority: str | None = None
    """Authority of the registry's certificate, as PEM; None: the public ones."""

    @property
    def urls(self) -> tuple[str, ...]:
        """Each address, without a slash at its end."""
        return tuple(one.rstrip("/") for one in self.url.split(","))


def access(url: str, secret_name: str | None, secrets: Secrets, path: str) -> RegistryAccess:
    """Return how to reach a registry: ``token``, or ``username`` and ``password``, and ``ca.crt`` of its Secret.

    Args:
        path: the field of the manifest that names the Secret, for the message of the `ManifestError`.
    """
    if secret_name is None:
        return RegistryAccess(url)
    token, authority = secrets.get(secret_name, TOKEN), secrets.authority(secret_name, path)
    if token is not None:
        return RegistryAccess(url, {"Authorization": f"Bearer {token.reveal()}"}, authority)
    if authority is not None and secrets.get(secret_name, USERNAME) is None:
        return RegistryAccess(url, {}, authority)
    username, password = (secrets.require(secret_name, key, path).reveal() for key in (USERNAME, PASSWORD))
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    return RegistryAccess(url, {"Authorization": f"Basic {login}"}, authority)
