"""Reaching schema registries, with errors that end a command as they should."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from logpersister import registry
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.records.topic_layout import WritersOf
from logpersister.registry import RegistryError, RegistryWriters, TopicSchemas, open_schemas

Registries = Callable[[LogPersister], RegistryWriters | None]
"""Returns the registry that a manifest names. Raises ManifestError."""


def writers_of(resource: LogPersister, registries: Registries) -> WritersOf:
    """Return what knows the registry that a spec of a manifest, or of a type in it, names."""

    def of(spec: Spec) -> RegistryWriters | None:
        try:
            return registries(resource.model_copy(update={"spec": spec}))
        except ManifestError as error:  # it is no fault of a revision that names the registry
            raise CommandError(str(error), Exit.INVALID) from None

    return of


@contextmanager
def opened(resource: LogPersister, secrets: Secrets) -> Iterator[RegistryWriters | None]:
    """Open the registry that a manifest names, overrides aside; its errors inside the block end the command."""
    with all_opened(secrets) as registries:
        yield registries(resource)


@contextmanager
def all_opened(secrets: Secrets) -> Iterator[Registries]:
    """Open registries as they are asked for; their errors inside the block end the command."""
    with closing(registry.Registries(secrets)) as found, _told():
        yield found.of


@contextmanager
def declared(resource: LogPersister, secrets: Secrets) -> Iterator[TopicSchemas | None]:
    """Open what declares the columns of topics; None: the manifest does. Errors inside the block end the command."""
    schemas = open_schemas(resource, secrets)
    try:
        with _told():
            yield schemas
    finally:
        if schemas is not None:
            schemas.close()


@contextmanager
def resources(resource: LogPersister, secrets: Secrets) -> Iterator[Callable[[str], LogPersister]]:
    """Return by topic the manifest as it is for it, with its columns, wherever they are declared.

    Errors are those of `declared`.
    """
    with declared(resource, secrets) as schemas:
        yield resource.for_topic if schemas is None else schemas.resource_of


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except RegistryError as error:
        raise UnreachableError(f"registry: {error}", may_pass=error.retriable) from error
