"""Schema registries: what the ids in records mean, and which schema a subject has. Confluent's API, and AWS Glue's."""

from logpersister.registry.access import RegistryAccess, access
from logpersister.registry.answers import Client, Schema, SubjectVersion
from logpersister.registry.client import RegistryClient
from logpersister.registry.errors import RegistryError
from logpersister.registry.schemas import RegistrySchemas
from logpersister.registry.topics import Registries, TopicSchemas, open_schemas
from logpersister.registry.writers import RegistryWriters

__all__ = [
    "Client",
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
]
