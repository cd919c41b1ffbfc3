"""Schema registries: what the ids in records mean, and which schema a subject has. By Confluent's API."""

from logpersister.registry.access import RegistryAccess, access
from logpersister.registry.client import RegistryClient, Schema, SubjectVersion
from logpersister.registry.errors import RegistryError

__all__ = ["RegistryAccess", "RegistryClient", "RegistryError", "Schema", "SubjectVersion", "access"]
