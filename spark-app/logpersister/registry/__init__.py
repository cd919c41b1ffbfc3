"""Schema registries: what the ids in records mean, and which schema a subject has. By Confluent's API."""

from logpersister.registry.access import RegistryAccess, access
from logpersister.registry.client import RegistryClient, Schema, SubjectVersion
from logpersister.registry.errors import RegistryError
from logpersister.registry.schemas import RegistrySchemas
from logpersister.registry.topics import Registries, TopicSchemas, open_schemas
from logpersister.registry.writers import RegistryWriters, open_writers

__all__ = [
    "Registries",
    "RegistryAccess",
    "RegistryClient",
    "RegistryError",
    "RegistrySchemas",
    "RegistryWriters",
    "Schema",
    "SubjectVersion",
    "TopicSchemas",
    "access",
    "open_schemas",
    "open_writers",
]
