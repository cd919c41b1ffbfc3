"""Reaching schema registries, with errors that end a command as they should."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from logpersister.cli.context import invalid
from logpersister.cli.exits import UnreachableError
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.registry import RegistryError, RegistrySchemas, RegistryWriters, open_schemas, open_writers

Registries = Callable[[LogPersister], RegistryWriters | None]
"""Returns the registry that a manifest names. Raises ManifestError."""


@contextmanager
def opened(resource: LogPersister, secrets: Secrets) -> Iterator[RegistryWriters | None]:
    """Open the registry that a manifest names, if it names one; its errors inside the block end the command."""
    with all_opened(secrets) as registries:
        try:
            writers = registries(resource)
        except ManifestError as error:
            raise invalid(error) from None
        yield writers


@contextmanager
def all_opened(secrets: Secrets) -> Iterator[Registries]:
    """Open registries as they are asked for; their errors inside the block end the command."""
    with ExitStack() as stack:
        opened: dict[object, RegistryWriters | None] = {}

        def registry_of(resource: LogPersister) -> RegistryWriters | None:
            schema = resource.spec.row_schema
            registry = None if schema is None else schema.registry
            named = None if registry is None else (registry.url, registry.secret_name)
            if named not in opened:
                opened[named] = writers = open_writers(resource, secrets)
                if writers is not None:
                    stack.callback(writers.close)
            return opened[named]

        with _told():
            yield registry_of


@contextmanager
def declared(resource: LogPersister, secrets: Secrets) -> Iterator[RegistrySchemas | None]:
    """Open what declares the columns of topics; None: the manifest does. Errors inside the block end the command."""
    try:
        schemas = open_schemas(resource, secrets)
    except ManifestError as error:
        raise invalid(error) from None
    try:
        with _told():
            yield schemas
    finally:
        if schemas is not None:
            schemas.close()


@contextmanager
def resources(resource: LogPersister, secrets: Secrets) -> Iterator[Callable[[str], LogPersister]]:
    """Return by topic the manifest with its columns, wherever they are declared. Errors are those of `declared`."""
    with declared(resource, secrets) as schemas:
        yield (lambda _: resource) if schemas is None else schemas.resource_of


@contextmanager
def _told() -> Iterator[None]:
    """Let errors of a registry end the command."""
    try:
        yield
    except RegistryError as error:
        raise UnreachableError(f"spec.schema.registry: {error}", may_pass=error.retriable) from error
