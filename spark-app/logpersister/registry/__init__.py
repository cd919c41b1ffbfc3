"""Schema registries: what the ids in records mean, and which schema a subject has. By Confluent's API."""

from logpersister.registry.access import RegistryAccess, access
from logpersister.registry.client import RegistryClient, Schema, SubjectVersion
from logpersister.registry.errors import RegistryError
from logpersister.registry.schemas import RegistrySchemas, open_schemas
from logpersister.registry.writers import RegistryWriters, open_writers

__all__ = [
    "RegistryAccess",
    "RegistryClient",
    "RegistryError",
    "RegistrySchemas",
    "RegistryWriters",
    "Schema",
    "SubjectVersion",
    "access",
    "open_schemas",
    "open_writers",
]
