"""Answers of a registry, of any kind."""

from dataclasses import dataclass
from typing import Protocol
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema as it was registered. It never changes."""

    text: str
    type: str
    """``AVRO``, ``PROTOBUF`` or ``JSON``."""
    references: tuple["Schema", ...] = ()
    """What it refers to by name, and what those do: each once, after all that it needs itself."""
    name: str = ""
    """Name by which others refer to it: for protobuf, the file that they import."""


@dataclass(frozen=True, slots=True)
class SubjectVersion:
    """One version of a subject."""

    subject: str
    version: int
    id: int
    schema: Schema


class Client(Protocol):
    """Asks one registry. Thread-safe; to be closed. Each question raises RegistryError."""

    @property
    def url(self) -> str:
        """Address as the manifest has it."""

    def close(self) -> None: ...

    def schema(self, schema_id: int) -> Schema:
        """Return the schema that has an id."""

    def id_of(self, guid: UUID) -> int:
        """Return the id of the schema that has a GUID."""

    def latest(self, subject: str) -> SubjectVersion:
        """Return the latest version of a subject, as the registry knows it now."""

    def version(self, subject: str, version: int) -> SubjectVersion:
        """Return a version of a subject."""

    def versions(self, subject: str) -> tuple[int, ...]:
        """Return the numbers of the versions that a subject has, rising."""

    def reach(self) -> None:
        """Ask for what any registry knows."""
