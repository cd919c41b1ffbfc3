"""What `logpersister check` says of tables."""

from collections.abc import Iterable, Iterator

from logpersister.cli.check.finding import MOST_TOPICS, Finding
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.forms.problems import some_of
from logpersister.manifest import LogPersister
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.member.hive_tables import topic_opener
from logpersister.tables.errors import TableError


def table_findings(spec: Spec) -> Iterator[Finding]:
    """Say what a table cannot promise."""
    if spec.table is not None and spec.table.format == "iceberg" and spec.table.catalog.type == "hive":
        told = (
            "spec.table.catalog.type: rows may be missing or twice in an Iceberg table of a Hive metastore, because a "
            "lock there is no compare-and-set; take a REST catalog where each must be there once (docs/tables.md)"
        )
        yield Finding("table", "warning", told)
    elif spec.table is not None and spec.table.format == "iceberg":
        catalog = spec.table.catalog
        named = f" under the name {catalog.name}" if catalog.type == "sql" else ""
        yield Finding("table", "ok", f"{spec.table.name}, in the {catalog.type} catalog {catalog.address}{named}")


def table_names_findings(spec: Spec, topics: Iterable[str]) -> Iterator[Finding]:
    """Say which topics would have one table: the first to come gets it, and the others are stored without one."""
    of_name: dict[str, list[str]] = {}
    for topic in sorted(topics):
        if (table := spec.table_of(topic)) is not None:
            of_name.setdefault(table.full_name(topic, spec.generation), []).append(topic)
    for name, some in of_name.items():
        if len(some) > 1:
            told = (
                f"spec.table.name: {some_of(some)} would all have table {name}; the first of them gets it, and objects "
                "of the others are in no table; give them other names by the table of an entry of spec.overrides"
            )
            yield Finding("table", "warning", told)


def metastore_findings(resource: LogPersister, secrets: Secrets, _: float) -> Iterator[Finding]:
    """Say which Hive tables are there."""
    spec = resource.spec.table
    if spec is None or spec.format != "hive":
        return
    try:
        open_topic = topic_opener(resource, spec, secrets)
        for topic in (resource.spec.kafka.topics or ())[:MOST_TOPICS]:
            table = open_topic(topic).table
            there = table.find()
            if there is None and not spec.create:
                raise CommandError(f"spec.table: {table.name} is not in the metastore; create it", Exit.INVALID)
            yield Finding("table", "ok", f"{table.name}: " + ("is there" if there else "is made by the first member"))
    except TableError as error:
        raise UnreachableError(f"spec.table: {error}", may_pass=error.retriable) from None
