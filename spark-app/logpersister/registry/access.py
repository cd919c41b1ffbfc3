"""Where a schema registry is, and what this process shows to be let in."""

import base64
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from logpersister.manifest.problems import ManifestError, Problem
from logpersister.manifest.secrets import Secrets, SecretValue

AUTHORITY, TOKEN, USERNAME, PASSWORD = "ca.crt", "token", "username", "password"


@dataclass(frozen=True, slots=True)
class RegistryAccess:
    """An address with credentials. Not for closures of Spark: it holds secrets."""

    url: str
    """Without a slash at its end."""
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    authority: str | None = None
    """PEM of who signed the registry's certificate; None: the public authorities."""


def access(url: str, secret_name: str | None, secrets: Secrets, path: str) -> RegistryAccess:
    """Return how to reach a registry: ``token``, or ``username`` and ``password``, and ``ca.crt`` of its Secret.

    Args:
        url: of the registry.
        secret_name: of the Secret; None: it lets everybody in.
        secrets: where Secrets are.
        path: the field of the manifest that names the Secret, for the message of the `ManifestError`.
    """
    if secret_name is None:
        return RegistryAccess(url.rstrip("/"))
    token, authority = secrets.get(secret_name, TOKEN), secrets.get(secret_name, AUTHORITY)
    if token is not None:
        return RegistryAccess(
            url.rstrip("/"), {"Authorization": f"Bearer {token.reveal()}"}, authority_of(authority, path)
        )
    if authority is not None and secrets.get(secret_name, USERNAME) is None:
        return RegistryAccess(url.rstrip("/"), {}, authority_of(authority, path))
    username, password = (secrets.require(secret_name, key, path).reveal() for key in (USERNAME, PASSWORD))
    login = base64.b64encode(f"{username}:{password}".encode()).decode()
    return RegistryAccess(url.rstrip("/"), {"Authorization": f"Basic {login}"}, authority_of(authority, path))


def authority_of(authority: SecretValue | None, path: str) -> str | None:
    """Return the PEM of an authority, if there is one; `path` names the Secret. Raises ManifestError."""
    if authority is None:
        return None
    try:
        ssl.create_default_context(cadata=authority.reveal())
    except (ssl.SSLError, ValueError):
        problem = "names a Secret whose ca.crt is not a certificate in PEM"
    else:
        return authority.reveal()
    remedy = "put the authority's certificate there, beginning with -----BEGIN CERTIFICATE-----"
    raise ManifestError([Problem(path, problem, remedy)])
