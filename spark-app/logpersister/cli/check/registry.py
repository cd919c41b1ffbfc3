"""What `logpersister check` says of schema registries, and of columns that they declare."""

from collections.abc import Iterator, Sequence
from itertools import islice

from logpersister.cli import registry
from logpersister.cli.check.finding import MOST_TOPICS, Finding
from logpersister.cli.check.spec import bounds_findings
from logpersister.manifest import LogPersister
from logpersister.manifest.problems import some_of
from logpersister.manifest.revision import OutputSchema
from logpersister.manifest.secrets import Secrets
from logpersister.registry import RegistryError, RegistryWriters, TopicSchemas
from logpersister.report.human import plural

_NO_GUIDS = "records wait whose headers name schemas by them (__value_schema_id; docs/schemas.md#headers)"


def registry_findings(resource: LogPersister, secrets: Secrets, _: float, *, compares: bool) -> Iterator[Finding]:
    with registry.all_opened(secrets) as registries:
        specs = [
            *resource.spec.variants(),
            *resource.spec.shapes(),
        ]  # that of a topic may say of which type records are
        asked: dict[RegistryWriters, bool] = {}
        for spec in specs:
            if (writers := registries(resource.model_copy(update={"spec": spec}))) is not None:
                asked[writers] = asked.get(writers, False) or spec.may_have_ids_in_headers
        for writers, of_headers in asked.items():
            writers.reach()
            told = "" if not of_headers or writers.knows_guids() else f", and no GUIDs: {_NO_GUIDS}"
            yield Finding("registry", "ok", f"{writers.url}: knows schemas{told}")
    with registry.declared(resource, secrets) as schemas:
        if schemas is None:
            return
        asking = islice(filter(schemas.asks, resource.spec.kafka.topics or ()), MOST_TOPICS)
        yield from all_columns_findings(schemas, list(asking), compares=compares)


def all_columns_findings(schemas: TopicSchemas, topics: Sequence[str], *, compares: bool) -> Iterator[Finding]:
    """Say which columns topics have. One that can have none ends `check` (`compares`), and a start only if all are so.

    Raises RegistryError.
    """
    broken: dict[str, RegistryError] = {}
    for topic in topics:
        try:
            yield from columns_findings(schemas, topic, compares=compares)
        except RegistryError as error:
            if error.retriable or compares:
                raise
            broken[topic] = error
    if broken and len(broken) == len(topics):
        raise next(iter(broken.values()))
    for topic, why in broken.items():
        yield Finding("registry", "warning", f"{topic}: {why}; this topic waits, and all others do not")


def columns_findings(schemas: TopicSchemas, topic: str, *, compares: bool) -> Iterator[Finding]:
    """Say which columns a topic has; no schema yet is no reason not to start, as no topic yet is none.

    Raises RegistryError.
    """
    try:
        now = schemas.current(topic)
        spec = schemas.with_schema(topic, now).spec
        assert spec.row_schema is not None
        columns = plural(len(spec.row_schema.columns), "column")
        yield Finding("registry", "ok", f"{topic}: {columns} of version {now.version}")
        yield from bounds_findings("registry", f"{topic}: ", spec.row_schema)
        if compares:
            yield from _earlier(schemas, topic, now, go="may go" if spec.parser.type == "json" else "go")
    except RegistryError as error:
        if error.kind != "unknown":
            raise
        yield Finding("registry", "warning", f"{topic}: {error}")


def _earlier(schemas: TopicSchemas, topic: str, now: OutputSchema, *, go: str) -> Iterator[Finding]:
    """Say which versions of a subject the one that declares the columns cannot read, and whether records `go`."""
    by_reason: dict[str, list[str]] = {}
    for version, reason in schemas.unreadable_before(topic, now).items():
        by_reason.setdefault(reason, []).append(str(version))
    if not by_reason:
        return
    told = some_of([f"{reason} (version {', '.join(versions)})" for reason, versions in by_reason.items()])
    yield Finding(
        "registry",
        "warning",
        f"{topic}: version {now.version} cannot read all versions before it: {told}; records of those {go} into "
        "quarantine; set spec.schema.registry.version to a version that reads them, or name the columns in "
        "spec.schema.fields, or replay these records out of quarantine later "
        "(docs/schemas.md#columns-from-the-registry)",
    )
