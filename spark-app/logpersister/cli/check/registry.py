"""What `logpersister check` says of schema registries, and of columns that they declare."""

from collections.abc import Iterator, Sequence
from itertools import islice

from logpersister.cli import registry
from logpersister.cli.check.finding import MOST_TOPICS, Finding
from logpersister.cli.check.spec import bounds_findings
from logpersister.manifest import LogPersister
from logpersister.manifest.problems import some_of
from logpersister.manifest.registry import RegistryPlace
from logpersister.manifest.revision import OutputSchema
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.registry import RegistryError, RegistryWriters, TopicSchemas
from logpersister.report.human import plural

_NO_GUIDS = "records wait whose headers name schemas by them (__value_schema_id; docs/schemas.md#headers)"


def registry_findings(
    resource: LogPersister, secrets: Secrets, _: float, *, compares: bool, goes_on: bool
) -> Iterator[Finding]:
    """Say which registries answer, and which columns they declare.

    Args:
        goes_on: one that does not answer is only a warning where topics need another one, or none.
    """
    away: dict[RegistryPlace, RegistryError] = {}
    with registry.all_opened(secrets) as registries:
        yield from _reach(resource, registries, away)
        all_wait = all(_needed(spec) & away.keys() for spec in resource.spec.variants())
        failed = [] if goes_on and not all_wait else list(away.values())
        yield from (Finding("registry", "failed", str(error)) for error in failed[1:])
        if failed:
            raise failed[0]
    for error in away.values():
        yield Finding("registry", "warning", f"{error}; topics that need it wait, and all others do not")
    with registry.declared(resource, secrets) as schemas:
        if schemas is None:
            return
        asking = (one for one in resource.spec.kafka.topics or () if schemas.asks(one))
        reached = (one for one in asking if schemas.registry_of(one) not in away)
        topics = list(islice(reached, MOST_TOPICS))
        yield from all_columns_findings(schemas, topics, compares=compares, goes_on=goes_on)


def _reach(
    resource: LogPersister, registries: registry.Registries, away: dict[RegistryPlace, RegistryError]
) -> Iterator[Finding]:
    """Ask each registry for what it knows; `away` gets those that do not answer."""
    specs = [*resource.spec.variants(), *resource.spec.shapes()]  # that of a topic may say of which type records are
    asked: dict[RegistryPlace, tuple[RegistryWriters, bool]] = {}
    for spec in specs:
        writers, place = registries(resource.model_copy(update={"spec": spec})), _place(spec)
        if writers is not None and place is not None:
            before = asked.get(place, (writers, False))[1]
            asked[place] = writers, before or spec.may_have_ids_in_headers
    for place, (writers, of_headers) in asked.items():
        try:
            writers.reach()
            told = "" if not of_headers or writers.knows_guids() else f", and no GUIDs: {_NO_GUIDS}"
        except RegistryError as error:
            away[place] = error
        else:
            yield Finding("registry", "ok", f"{writers.url}: knows schemas{told}")


def _needed(spec: Spec) -> set[RegistryPlace | None]:
    """Return the registries without which ranges of a topic wait, where one of them is away."""
    return {_place(one) for one in (spec, *spec.of_types())}


def _place(spec: Spec) -> RegistryPlace | None:
    schema = spec.row_schema
    return None if schema is None or schema.registry is None else schema.registry.place


def all_columns_findings(
    schemas: TopicSchemas, topics: Sequence[str], *, compares: bool, goes_on: bool
) -> Iterator[Finding]:
    """Say which columns topics have. One that can have none ends `check` (`compares`), and a start only if all are so.

    With `goes_on` so it is with one about which its registry does not answer. Raises RegistryError.
    """
    broken: dict[str, RegistryError] = {}
    silent: dict[RegistryPlace, RegistryError] = {}
    for topic in topics:
        place = schemas.registry_of(topic)
        if place in silent:
            broken[topic] = silent[place]
            continue
        try:
            yield from columns_findings(schemas, topic, compares=compares)
        except RegistryError as error:
            if compares or (error.retriable and not goes_on):
                raise
            broken[topic] = error
            if error.kind in ("unreachable", "timeout"):
                silent[place] = error
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
