"""The registries of a group, whose topics may have one each (``spec.overrides``)."""

import threading
from collections.abc import Sequence

from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.registry.connection import connector
from logpersister.registry.schemas import RegistrySchemas
from logpersister.registry.writers import RegistryWriters, pace_of
from logpersister.values.registry import RegistryPlace, RegistrySpec


class TopicSchemas:
    """The schemas by which rows of topics are made, where a registry declares the columns. To be closed."""

    def __init__(self, resource: LogPersister, schemas: Sequence[RegistrySchemas | None]) -> None:
        """Take what asks for the columns of the group and of each entry of its overrides; None: it asks nobody."""
        self._resource = resource
        self._general, *self._of_override = schemas

    def of(self, topic: str) -> RegistrySchemas | None:
        """Return what the registry has that declares the columns of a topic; None: the manifest declares them."""
        place = self._resource.spec.override_of(topic)
        return self._general if place is None else self._of_override[place]

    def resource_of(self, topic: str) -> LogPersister:
        """Return the manifest as it is for a topic, with its columns, wherever they are declared.

        Raises RegistryError.
        """
        schemas = self.of(topic)
        return self._resource.for_topic(topic) if schemas is None else schemas.resource_of(topic)

    def close(self) -> None:
        for one in (self._general, *self._of_override):
            if one is not None:
                one.close()


def open_schemas(resource: LogPersister, secrets: Secrets) -> TopicSchemas | None:
    """Return what asks for columns, not connected yet; None: the manifest declares all. Raises ManifestError."""
    schemas = [_schemas(resource.model_copy(update={"spec": spec}), secrets) for spec in resource.spec.variants()]
    return TopicSchemas(resource, schemas) if any(one is not None for one in schemas) else None


def _schemas(resource: LogPersister, secrets: Secrets) -> RegistrySchemas | None:
    schema = resource.spec.row_schema
    if schema.registry is None or not schema.asks_registry or resource.spec.has_types:
        return None  # columns of types are declared by their entries
    return RegistrySchemas(resource, schema.registry, connector(schema.registry, secrets, resource.spec.value.kind))


class Registries:
    """The registries that know the schemas of writers, each opened when it is first asked for. Thread-safe.

    To be closed.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._lock = threading.Lock()
        self._opened: dict[RegistryPlace, RegistryWriters] = {}

    def of(self, resource: LogPersister) -> RegistryWriters | None:
        """Return the registry that a manifest names, its overrides aside; None: it names none. Raises ManifestError."""
        registry = resource.spec.row_schema.registry
        return None if registry is None else self._of(registry, resource.spec.value.kind)

    def begin(self) -> None:
        """Note that what is read from now on was in Kafka before now."""
        for writers in self._opened.values():
            writers.begin()

    def close(self) -> None:
        for writers in self._opened.values():
            writers.close()

    def _of(self, registry: RegistrySpec, kind: str) -> RegistryWriters:
        with self._lock:
            if registry.place not in self._opened:
                self._opened[registry.place] = RegistryWriters(
                    connector(registry, self._secrets, kind), pace_of(registry)
                )
            return self._opened[registry.place]
