"""Makes clients of the registry that a manifest names."""

from collections.abc import Callable
from typing import Final

from logpersister.manifest.registry import RegistrySpec
from logpersister.manifest.secrets import Secrets
from logpersister.registry.access import access
from logpersister.registry.client import RegistryClient

ATTEMPTS: Final = 2
"""Of a request; then what needs the answer waits, and is tried again by its member."""

Connect = Callable[[], RegistryClient]
"""Makes a client by the Secret as it is then. Raises ManifestError."""


def connector(registry: RegistrySpec, secrets: Secrets) -> Connect:
    """Return what makes clients of a registry."""

    def connect() -> RegistryClient:
        found = access(registry.url, registry.secret_name, secrets, "spec.schema.registry.secretName")
        return RegistryClient(found, attempts=ATTEMPTS)

    return connect
