"""Output schemas from a registry that declares the columns (docs/design/registry.md)."""

from typing import Final

import structlog

from logpersister.manifest import LogPersister, ManifestError, Problem
from logpersister.manifest.revisions.revision import OutputSchema, resource_with
from logpersister.registry.answers import Client, SubjectVersion
from logpersister.registry.connection import Connect, Connection
from logpersister.registry.errors import RegistryError
from logpersister.registry.kinds import KINDS
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.reading.parsers import bounded
from logpersister.values.registry import LATEST, RegistryPlace, RegistrySpec
from logpersister.values.row_schema import RowSchema

log = structlog.get_logger(__name__)
_MOST_NAMED: Final = 20
_REMEDY: Final = "register a version that can, or name the columns in fields of spec.value"
MOST_EARLIER: Final = 50
"""Versions that are compared at most with the one that declares the columns."""


class RegistrySchemas:
    """The schemas that a registry has of topics. To be closed."""

    def __init__(self, resource: LogPersister, registry: RegistrySpec, connect: Connect) -> None:
        """Connect to nothing yet.

        Args:
            connect: called again when the registry refuses the former client.
        """
        self._resource = resource
        self._registry = registry
        self._kind = KINDS[resource.spec.parser.type]
        self._connection = Connection(connect)
        self._resources: dict[tuple[str, OutputSchema], LogPersister] = {}
        self._problems: dict[tuple[str, OutputSchema, OutputSchema], str | None] = {}

    @property
    def url(self) -> str:
        return self._connection.url

    @property
    def place(self) -> RegistryPlace:
        return self._registry.place

    def close(self) -> None:
        self._connection.close()

    def current(self, topic: str) -> OutputSchema:
        """Return the schema by which rows of a topic are made: the latest now, or the one that the manifest names.

        Raises RegistryError, also when its fields cannot be the columns of this manifest.
        """
        subject, version = self._registry.subject_of(topic), self._registry.version or LATEST

        def ask(client: Client) -> SubjectVersion:
            return client.latest(subject) if version == LATEST else client.version(subject, version)

        found = self._connection.ask(ask)
        try:
            schema = OutputSchema(found.version, self._kind.self_contained(found.schema))
            self.with_schema(topic, schema)
        except (SchemaTextError, ManifestError) as error:
            why = f"version {found.version} of subject {subject!r} cannot declare the columns of topic {topic}"
            told = f"schema registry {self.url}: {why}: {_told(error)}; {_REMEDY}"
            raise RegistryError("rejected", told) from None
        return schema

    def resource_of(self, topic: str) -> LogPersister:
        """Return the manifest with the schema that rows of a topic have now. Raises RegistryError."""
        return self.with_schema(topic, self.current(topic))

    def with_schema(self, topic: str, schema: OutputSchema) -> LogPersister:
        """Return the manifest as it is for a topic, with a schema. Raises ManifestError."""
        key = topic, schema
        if key not in self._resources:
            self._resources[key] = found = resource_with(self._resource.for_topic(topic), schema)
            left_out = [one.path for one in found.spec.row_schema.remarks if one.is_left_out]
            if left_out:
                told, count = left_out[:_MOST_NAMED], len(left_out)
                log.warning("schema.fields.left_out", topic=topic, version=schema.version, fields=told, count=count)
        return self._resources[key]

    def unreadable(self, topic: str, now: OutputSchema, before: OutputSchema) -> str | None:
        key = topic, now, before
        if key not in self._problems:
            self._problems[key] = self._compare(topic, now, before)
        return self._problems[key]

    def unreadable_before(self, topic: str, now: OutputSchema) -> dict[int, str]:
        """Return of the versions before `now`, the last `MOST_EARLIER`, those that it cannot read, and why.

        AWS Glue is not asked: it allows an account few questions. Raises RegistryError.
        """
        if self._registry.glue is not None:
            return {}
        subject = self._registry.subject_of(topic)
        columns = self._columns(topic, now)
        numbers = [one for one in self._connection.ask(lambda client: client.versions(subject)) if one < now.version]
        problems = {one: self._misfit(columns, subject, one) for one in numbers[-MOST_EARLIER:]}
        return {one: bounded(problem) for one, problem in problems.items() if problem is not None}

    def _compare(self, topic: str, now: OutputSchema, before: OutputSchema) -> str | None:
        columns, subject = self._columns(topic, now), self._registry.subject_of(topic)
        first, last = sorted((now.version, before.version))
        between = [one for one in self._connection.ask(lambda client: client.versions(subject)) if first < one < last]
        for version in sorted([before.version, *between]):
            problem = self._misfit(columns, subject, version, before.text if version == before.version else None)
            if problem is not None:
                return f"of version {version}, {bounded(problem)}"
        return None

    def _columns(self, topic: str, now: OutputSchema) -> RowSchema:
        return self.with_schema(topic, now).spec.row_schema.as_written

    def _misfit(self, columns: RowSchema, subject: str, version: int, text: str | None = None) -> str | None:
        """Return why what a version has written cannot become columns; None: it can. Its text is asked for."""
        try:
            return self._kind.misfit(columns, self._text(subject, version) if text is None else text)
        except SchemaTextError as error:
            return str(error)

    def _text(self, subject: str, version: int) -> str:
        found = self._connection.ask(lambda client: client.version(subject, version))
        return self._kind.self_contained(found.schema)


def _told(error: Exception) -> str:
    """Return what is wrong; where in the manifest it would stand does not matter."""
    if isinstance(error, ManifestError):
        return bounded("; ".join(map(_problem, error.problems)))
    return bounded(str(error))


def _problem(problem: Problem) -> str:
    found = "" if problem.found is None else f"{problem.found} "
    return f"{problem.path.removeprefix('spec.')} {found}{problem.expectation}"
