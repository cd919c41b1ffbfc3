"""The connection to the registry that a manifest names."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

from logpersister.forms.problems import ManifestError
from logpersister.manifest.secrets import AwsKeys, Secrets, aws_keys
from logpersister.registry.access import RegistryAccess, access
from logpersister.registry.answers import Client
from logpersister.registry.client import RegistryClient
from logpersister.registry.errors import RegistryError
from logpersister.registry.glue import GlueClient
from logpersister.values.registry import RegistrySpec

Answer = TypeVar("Answer")

ATTEMPTS: Final = 2
"""Attempts per request; then what needs the answer waits, and is tried again by its member."""

Connect = Callable[[], Client]
"""Makes a client by the Secret as it is then. Raises ManifestError."""


class Connection:
    """A client, made anew when the registry refuses it and its Secret has been renewed. To be closed."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._login = _login_of(connect)
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
            # A client knows the schemas that it has asked for, so it is kept unless the Secret is another one now. Who
            # may not read one subject asks for no other schema again.
            if error.kind in ("unauthorized", "unreachable"):
                login = _login_of(self._connect)
                if login != self._login or (login is None and error.kind == "unauthorized"):
                    self._renew()
            raise

    def _renew(self) -> None:
        with suppress(ManifestError):  # the error that led here is the one to report
            login, client = _login_of(self._connect), self._connect()
            self._client.close()
            self._login, self._client = login, client


@dataclass(frozen=True, slots=True)
class _Connector:
    """Makes clients of a registry by its Secret as it is then."""

    registry: RegistrySpec
    secrets: Secrets
    field: str
    """The field of the manifest that names the Secret."""

    def login(self) -> AwsKeys | RegistryAccess | None:
        if self.registry.glue is not None:
            return aws_keys(self.registry.secret_name, self.secrets, self.field)
        return access(self.registry.url, self.registry.secret_name, self.secrets, self.field)

    def __call__(self) -> Client:
        login, place = self.login(), self.registry.glue
        if isinstance(login, RegistryAccess):
            return RegistryClient(login, attempts=ATTEMPTS)
        assert place is not None, "only a registry of AWS is reached otherwise"
        return GlueClient(self.registry.url, place, login, attempts=ATTEMPTS)


def _login_of(connect: Connect) -> object:
    """Return what a client shows that would be made now; None where that is not known, or no Secret can be read."""
    with suppress(ManifestError):
        return connect.login() if isinstance(connect, _Connector) else None
    return None


def connector(registry: RegistrySpec, secrets: Secrets, kind: str) -> Connect:
    """Return a factory of clients of the registry that values of a kind name."""
    return _Connector(registry, secrets, f"spec.value.{kind}.registry.secretName")
