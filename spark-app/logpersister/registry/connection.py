"""The connection to the registry that a manifest names."""

from collections.abc import Callable
from typing import Final, TypeVar

from logpersister.manifest.registry import RegistrySpec
from logpersister.manifest.secrets import Secrets, aws_keys
from logpersister.registry.access import access
from logpersister.registry.answers import Client
from logpersister.registry.client import RegistryClient
from logpersister.registry.errors import RegistryError
from logpersister.registry.glue import GlueClient

Answer = TypeVar("Answer")

ATTEMPTS: Final = 2
"""Of a request; then what needs the answer waits, and is tried again by its member."""
_SECRET: Final = "spec.schema.registry.secretName"  # noqa: S105 - the field that names it

Connect = Callable[[], Client]
"""Makes a client by the Secret as it is then. Raises ManifestError."""


class Connection:
    """A client, made anew when the registry refuses it: its Secret may have been renewed. To be closed."""

    def __init__(self, connect: Connect) -> None:
        """Connect to nothing yet."""
        self._connect = connect
        self._client = connect()

    @property
    def url(self) -> str:
        return self._client.url

    def close(self) -> None:
        self._client.close()

    def ask(self, question: Callable[[Client], Answer]) -> Answer:
        """Return the answer. Raises RegistryError."""
        try:
            return question(self._client)
        except RegistryError as error:
            if error.kind == "unauthorized":
                self._client.close()
                self._client = self._connect()
            raise


def connector(registry: RegistrySpec, secrets: Secrets) -> Connect:
    """Return what makes clients of a registry."""

    def connect() -> Client:
        place = registry.glue
        if place is not None:
            keys = aws_keys(registry.secret_name, secrets, _SECRET)
            return GlueClient(registry.url, place, keys, attempts=ATTEMPTS)
        found = access(registry.url, registry.secret_name, secrets, _SECRET)
        return RegistryClient(found, attempts=ATTEMPTS)

    return connect
