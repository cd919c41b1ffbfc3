"""What `logpersister check` says of schema registries, and of columns that they declare."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from logpersister.aside import in_a_thread
from logpersister.cli import registry
from logpersister.cli.check.finding import MOST_TOPICS, Finding
from logpersister.cli.check.spec import bounds_findings
from logpersister.forms.problems import some_of
from logpersister.manifest import LogPersister
from logpersister.manifest.revisions.revision import OutputSchema
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.registry import RegistryError, RegistrySchemas, RegistryWriters, TopicSchemas
from logpersister.report.human import plural
from logpersister.values.registry import RegistryPlace

_NO_GUIDS = "records wait whose headers name schemas by them (__value_schema_id; docs/schemas.md#headers)"


def registry_findings(resource: LogPersister, secrets: Secrets, _: float, *, compares: bool) -> Iterator[Finding]:
    """Say which registries answer, and which columns they declare.

    Args:
        compares: for `check`; at a start one that does not answer is a warning where topics need another one, or none.
    """
    away: dict[RegistryPlace, RegistryError] = {}
    with registry.all_opened(secrets) as registries, registry.declared(resource, secrets) as schemas:
        yield from _reach(resource, registries, away)
        if schemas is not None:
            yield from all_columns_findings(schemas, resource.spec.kafka.topics or (), away, compares=compares)
        all_wait = all(_needed(spec) & away.keys() for spec in resource.spec.variants())
        failed = list(away.values()) if compares or all_wait else []
        yield from (Finding("registry", "failed", str(error)) for error in failed[1:])
        if failed:
            raise failed[0]
    for error in away.values():
        yield Finding("registry", "warning", f"{error}; topics that need it wait, and all others do not")


def _reach(
    resource: LogPersister, registries: registry.Registries, away: dict[RegistryPlace, RegistryError]
) -> Iterator[Finding]:
    specs = [*resource.spec.variants(), *resource.spec.shapes()]  # that of a topic may say of which type records are
    asked: dict[RegistryPlace, tuple[RegistryWriters, bool]] = {}
    for spec in specs:
        writers, place = registries(resource.model_copy(update={"spec": spec})), _place(spec)
        if writers is not None and place is not None:
            before = asked.get(place, (writers, False))[1]
            asked[place] = writers, before or spec.may_have_ids_in_headers
    answers = {
        place: in_a_thread(partial(_knows, writers, of_headers=of_headers), 0.0)
        for place, (writers, of_headers) in asked.items()
    }
    for place, answer in answers.items():  # those that are silent, all at once
        try:
            yield Finding("registry", "ok", answer.result())
        except RegistryError as error:
            away[place] = error


def _knows(writers: RegistryWriters, *, of_headers: bool) -> str:
    """Return what a registry knows. Raises RegistryError."""
    writers.reach()
    told = "" if not of_headers or writers.knows_guids() else f", and no GUIDs: {_NO_GUIDS}"
    return f"{writers.url}: knows schemas{told}"


def _needed(spec: Spec) -> set[RegistryPlace | None]:
    """Return the registries without which ranges of a topic wait, where one of them is away."""
    return {_place(one) for one in (spec, *spec.of_types())}


def _place(spec: Spec) -> RegistryPlace | None:
    registry = spec.row_schema.registry
    return None if registry is None else registry.place


def all_columns_findings(
    schemas: TopicSchemas, topics: Sequence[str], away: dict[RegistryPlace, RegistryError], *, compares: bool
) -> Iterator[Finding]:
    """Say which columns topics have. One that can have none ends `check` (`compares`), and a start only if all are so.

    `away` gets registries that do not answer; of these nothing is asked. Raises RegistryError.
    """
    waiting: dict[str, RegistryError] = {}
    asked = ((topic, of_topic) for topic in topics if (of_topic := schemas.of(topic)) is not None)
    for topic, of_topic in islice(asked, MOST_TOPICS):
        place = of_topic.place
        try:
            if place not in away:
                yield from columns_findings(of_topic, topic, compares=compares)
                continue
        except RegistryError as error:
            if compares:
                raise
            waiting[topic] = error
            if error.kind in ("unreachable", "timeout"):
                away[place] = error
        else:
            waiting[topic] = away[place]
    if waiting and len(waiting) == len(topics):
        raise next(iter(waiting.values()))
    for topic, why in waiting.items():
        if why not in away.values():
            yield Finding("registry", "warning", f"{topic}: {why}; this topic waits, and all others do not")


def columns_findings(schemas: RegistrySchemas, topic: str, *, compares: bool) -> Iterator[Finding]:
    """Say which columns a topic has; no schema yet is no reason not to start, as no topic yet is none.

    Raises RegistryError.
    """
    try:
        now = schemas.current(topic)
        spec = schemas.with_schema(topic, now).spec
        columns = plural(len(spec.row_schema.columns), "column")
        yield Finding("registry", "ok", f"{topic}: {columns} of version {now.version}")
        yield from bounds_findings("registry", f"{topic}: ", spec.row_schema)
        if compares:
            yield from _earlier(schemas, topic, now, go="may go" if spec.parser.type == "json" else "go")
    except RegistryError as error:
        if error.kind != "unknown":
            raise
        yield Finding("registry", "warning", f"{topic}: {error}")


def _earlier(schemas: RegistrySchemas, topic: str, now: OutputSchema, *, go: str) -> Iterator[Finding]:
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
        "quarantine; set version of its registry to a version that reads them, or name the columns in "
        "fields of spec.value, or replay these records out of quarantine later "
        "(docs/schemas.md#columns-from-the-registry)",
    )
