"""Answers of a registry, of any kind."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
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


class Client(ABC):
    """Asks one registry. Thread-safe; to be closed. Each question raises RegistryError.

    A schema that has an id, and a version that has a number, never change: the answer is kept. Which version is the
    latest is asked for each time.
    """

    def __init__(self, url: str, attempts: int, sleep: Callable[[float], None]) -> None:
        self.url = url
        """Address as the manifest has it."""
        self._attempts = attempts
        self._sleep = sleep
        self._schemas: dict[int, Schema] = {}
        self._versions: dict[tuple[str, int], SubjectVersion] = {}

    def schema(self, schema_id: int) -> Schema:
        """Return the schema that has an id; the error is of kind ``unknown`` when there is none."""
        if schema_id not in self._schemas:
            self._schemas[schema_id] = self._ask_schema(schema_id)
        return self._schemas[schema_id]

    def version(self, subject: str, version: int) -> SubjectVersion:
        """Return a version of a subject."""
        found = self._versions.get((subject, version))
        return self._ask_version(subject, version) if found is None else found

    def _keep(self, found: SubjectVersion) -> SubjectVersion:
        self._schemas.setdefault(found.id, found.schema)
        self._versions[found.subject, found.version] = found
        return found

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _ask_schema(self, schema_id: int) -> Schema: ...

    @abstractmethod
    def _ask_version(self, subject: str, version: int) -> SubjectVersion: ...

    @abstractmethod
    def id_of(self, guid: UUID) -> int:
        """Return the id of the schema that has a GUID."""

    @abstractmethod
    def latest(self, subject: str) -> SubjectVersion:
        """Return the latest version of a subject, as the registry knows it now."""

    @abstractmethod
    def versions(self, subject: str) -> tuple[int, ...]:
        """Return the numbers of the versions that a subject has, rising."""

    @abstractmethod
    def reach(self) -> None:
        """Ask for what any registry knows."""
