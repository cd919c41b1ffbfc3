"""``logpersister check``: whether the manifest is right, and everything that it names can be reached."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Literal

import structlog

from logpersister import __version__
from logpersister.cli import brokers, bucket, context, policy, registry, taken
from logpersister.cli.exits import CommandError, Exit, UnreachableError
from logpersister.cli.group import NEW, describe_group
from logpersister.cli.name_lengths import may_be_too_long
from logpersister.cli.tables import printable
from logpersister.finish.telling import NotTakenError
from logpersister.finish.webhook import Webhook
from logpersister.formats.registry import format_of
from logpersister.group.answers import TopicDescription
from logpersister.group.offsets import LogReader
from logpersister.kafka_client import BrokerReport
from logpersister.manifest import LogPersister, ManifestError
from logpersister.manifest.hiding_key import check_keys
from logpersister.manifest.keep import header_conditions
from logpersister.manifest.parser import REGISTERED, Framing, Parser
from logpersister.manifest.revision import OutputSchema, revision_of
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.secrets import Secrets
from logpersister.manifest.spec import Spec
from logpersister.member.hive_tables import topic_opener
from logpersister.pipeline.rules import rules_of
from logpersister.records.avro_rows import misfit as misfit_of_avro
from logpersister.records.protobuf_rows import misfit as misfit_of_message
from logpersister.registry import RegistryError, RegistryWriters, TopicSchemas
from logpersister.report import logs
from logpersister.report.human import plural
from logpersister.report.lines import partitions_text
from logpersister.storage.names import MAX_KEY_BYTES
from logpersister.tables.errors import TableError

log = structlog.get_logger(__name__)

PAUSE_SECONDS = 1.0
"""Between two looks at servers that are waited for."""
Verdict = Literal["ok", "warning", "failed"]
_Look = Callable[[LogPersister, Secrets, float], Iterator["Finding"]]
_MOST_TOPICS = 10
_NO_GUIDS = "records wait whose headers name schemas by them (__value_schema_id; docs/schemas.md#headers)"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the answer."""

    subject: str
    verdict: Verdict
    message: str

    def __str__(self) -> str:
        first, *others = [printable(line) for line in self.message.split("\n")]
        return "\n".join([f"{self.verdict:<7}  {self.subject:<8}  {first}", *(f"{'':<19}{line}" for line in others)])


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; everything is looked at, whatever failed before."""
    logs.configure(level="error")
    resource = context.manifest(arguments.file)
    secrets = context.secrets(arguments, logs.redactor)
    if arguments.print_policy:
        sys.stdout.write(policy.write(resource, secrets, as_json=arguments.json))
        return Exit.OK
    failures: list[CommandError] = []
    findings: list[Finding] = []
    for finding in findings_of(resource, secrets, arguments.timeout, failures.append, told=True):
        findings.append(finding)
        if not arguments.json:
            print(finding, flush=True)
    if arguments.json:
        document = [{"subject": one.subject, "verdict": one.verdict, "message": one.message} for one in findings]
        print(json.dumps({"ok": not failures, "findings": document}))
    return max((error.code for error in failures), default=Exit.OK)


def before_start(
    resource: LogPersister,
    secrets: Secrets,
    seconds: float,
    until: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
    *,
    until_current: bool = False,
) -> None:
    """Do the same for ``run``: print only what is wrong, and raise `CommandError` for what prevents the start.

    What may pass by itself is waited for `until` then (by the clock). What no waiting can mend ends at once.
    `until_current`: topics must exist, since none is stored later.
    """
    told = ""
    while True:
        failures: list[CommandError] = []
        findings = list(findings_of(resource, secrets, seconds, failures.append, topics_exist=until_current))
        left = until - clock()
        if not failures or left <= 0 or not all(error.may_pass for error in failures):
            break
        reasons = "; ".join(map(str, failures))
        if reasons != told:
            told = reasons
            log.warning("start.waits", reason=reasons, at_most_seconds=round(left))
        sleep(min(PAUSE_SECONDS, left))
    for finding in findings:
        if finding.verdict != "ok":
            print(finding, file=sys.stderr, flush=True)
    if failures:
        code = max(error.code for error in failures)
        raise CommandError("nothing was started; correct the above and try again", code)
    if told:
        log.info("start.goes_on")


def findings_of(
    resource: LogPersister,
    secrets: Secrets,
    seconds: float,
    fail: Callable[[CommandError], object],
    *,
    told: bool = False,
    topics_exist: bool = False,
) -> Iterator[Finding]:
    """Yield the findings as they come; `fail` is told the error of each that is a failure.

    Args:
        told: look at those, too, who are told of folders, and at earlier versions of schemas. No member waits for them
            with its start.
        topics_exist: a topic that does not exist is a failure.
    """
    revision = revision_of(resource, __version__, rules_of(resource)).hash
    generation = resource.spec.generation
    yield Finding("manifest", "ok", f"group {resource.group_id}, generation {generation}, revision {revision}")
    yield from _messages(resource.spec)
    for schema in {id(one.row_schema): one.row_schema for one in resource.spec.shapes()}.values():
        if schema is not None and not schema.asks_registry:
            yield from _bounds("schema", "", schema)
    yield from _table(resource.spec)
    yield from _left_out(resource.spec)
    yield from _quarantine(resource.spec)
    for name in check_keys((one.row_schema for one in resource.spec.variants()), secrets):
        yield Finding("schema", "ok", f"Secret {name}: has the key of hashed fields")
    tellers = [("table", _metastore), ("webhook", _webhook), ("told", _told_topic)] if told else []
    kafka = partial(_kafka, topics_exist=topics_exist, describes=told)
    bucket_, registries = partial(_bucket, refuses=told), partial(_registry, compares=told)
    looks: list[tuple[str, _Look]] = [("kafka", kafka), ("bucket", bucket_), ("registry", registries), *tellers]
    for subject, look in looks:
        try:
            yield from look(resource, secrets, seconds)
        except CommandError as error:
            fail(error)
            yield Finding(subject, "failed", str(error))


def _messages(spec: Spec) -> Iterator[Finding]:
    """Say why what schemas of the manifest have written can be no rows.

    Only the native parser knows, which the operator has not.
    """
    for kind, framing, schema in dict.fromkeys(_written_by_manifest(spec)):
        texts = schema.written_by(framing) if kind == "avro" else (schema.protobuf or "",)
        for text in texts:
            problem = misfit_of_avro(schema, text) if kind == "avro" else misfit_of_message(schema, text)
            if problem is not None:
                records = "all records" if len(texts) == 1 else "records of this schema"
                told = f"spec.schema.fields: {problem}; {records} would go into quarantine"
                yield Finding("schema", "warning", f"{told}; correct the field or the schema of the values")


def _bounds(subject: str, where: str, schema: SchemaSpec) -> Iterator[Finding]:
    """Say what columns do not hold of the fields of a schema, and which fields are left out."""
    by_text: dict[tuple[str, bool], list[str]] = {}
    for one in schema.remarks:
        by_text.setdefault((one.text, one.is_left_out), []).append(one.path)
    for (text, is_left_out), paths in by_text.items():
        told = f"{where}{_few(paths)}: {'left out, because ' if is_left_out else ''}{text}"
        yield Finding(subject, "warning" if is_left_out else "ok", told)


def _written_by_manifest(spec: Spec) -> Iterator[tuple[Parser, Framing, SchemaSpec]]:
    """Yield what says by which schemas of the manifest values, or keys, were written."""
    for one in spec.shapes():
        if one.row_schema is None:
            continue
        key, of_key = one.row_schema.key, one.row_schema.of_key
        found = [(one.parser, one.row_schema.as_written)]
        if key is not None and of_key is not None and key.parser in REGISTERED:
            found.append((key.as_values, of_key))
        for parser, schema in found:
            if (parser.type == "protobuf" and schema.protobuf is not None) or schema.written_by(parser.framing):
                yield parser.type, parser.framing, schema


def _table(spec: Spec) -> Iterator[Finding]:
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


def _left_out(spec: Spec) -> Iterator[Finding]:
    """Say what readers of files may miss by the defaults of formats: records without a value, whole lines."""
    skipping = sorted({one.output.format for one in spec.variants() if not one.output.stores_tombstones})
    if skipping:
        fields = ", ".join(f"spec.output.{name}.tombstones" for name in skipping)
        yield Finding("output", "ok", f"records without a value (tombstones) are in no file ({fields}: skip)")
    if any(one.output.text is not None and one.output.text.delimiter_in_value == "keep" for one in spec.variants()):
        told = "a value with the delimiter in it is several lines (spec.output.text.delimiterInValue: keep)"
        yield Finding("output", "ok", f"{told}; logpersister try counts them")


def _quarantine(spec: Spec) -> Iterator[Finding]:
    """Say whose refused records are not kept whole, or without what the manifest judges them by."""
    for told in dict.fromkeys(_lost_in_quarantine(spec)):
        yield Finding("quarantine", "warning", told)


def _lost_in_quarantine(spec: Spec) -> Iterator[str]:
    for number, one in enumerate(spec.variants()):
        if not one.has_quarantine or one.keeps_all_in_quarantine:
            continue
        entry = spec.overrides[number - 1] if number else None
        entry_name = f"spec.overrides[{number - 1}]"
        parser = "spec" if entry is None or entry.parser is None else entry_name
        keep = "spec" if entry is None or entry.keep is None else entry_name
        format_at = f"{parser}.parser.quarantine.format: format {one.output.format} does not keep"
        conditions = header_conditions(one.keep)
        if not one.output.keeps_records:
            yield (
                f"{format_at} all of a record that the parser refuses, "
                "so logpersister quarantine replay cannot store it again; set it to parquet"
            )
        elif conditions and not format_of(one).wants_headers:
            yield (
                f"{format_at} headers of a record that the parser refuses, and {keep}.keep has conditions on "
                f"{_few(sorted({condition.subject for condition in conditions}))}, "
                "so logpersister quarantine replay cannot store it again; set it to parquet"
            )


def _metastore(resource: LogPersister, secrets: Secrets, _: float) -> Iterator[Finding]:
    """Say which Hive tables are there."""
    spec = resource.spec.table
    if spec is None or spec.format != "hive":
        return
    try:
        open_topic = topic_opener(resource, spec, secrets)
        for topic in (resource.spec.kafka.topics or ())[:_MOST_TOPICS]:
            table = open_topic(topic).table
            there = table.find()
            if there is None and not spec.create:
                raise CommandError(f"spec.table: {table.name} is not in the metastore; create it", Exit.INVALID)
            yield Finding("table", "ok", f"{table.name}: " + ("is there" if there else "is made by the first member"))
    except TableError as error:
        raise UnreachableError(f"spec.table: {error}", may_pass=error.retriable) from None
    except ManifestError as error:
        raise context.invalid(error) from None


def _kafka(
    resource: LogPersister, secrets: Secrets, seconds: float, *, topics_exist: bool, describes: bool
) -> Iterator[Finding]:
    """Look at brokers and topics; `describes`: at the group, too, which a member joins whatever it is like."""
    report = brokers.reach(resource, secrets, seconds)
    yield Finding("kafka", "ok", f"{report.address}: {plural(report.brokers, 'broker')}")
    for problem in report.unreachable:
        yield Finding("kafka", "warning", str(problem))
    if report.topics:
        yield Finding("topics", "ok", _topics(report.topics))
    if report.leaderless:
        told = f"{partitions_text(report.leaderless)}: no leader, so nobody can read or write"
        remedy = "start the broker that has the replica; the partitions are stored then, all others are not affected"
        yield Finding("topics", "warning", f"{told}; {remedy}")
    yield from _absent_topics(resource.spec, report, topics_exist=topics_exist)
    yield from _overrides(resource.spec, report.topics)
    yield from _names(resource, report.topics)
    yield from _table_names(resource.spec, report.topics)
    if not describes:
        return
    config = brokers.config(resource, secrets, seconds, report)
    group = describe_group(config, resource.group_id, seconds)
    if group.state == NEW:
        yield Finding("group", "ok", f"{resource.group_id}: new, nothing is committed")
    else:
        yield Finding("group", "ok", f"{resource.group_id}: {group.state}, {plural(len(group.members), 'member')}")
    committed = taken.committed(resource, config, report.topics, seconds)
    yield from (Finding("group", "warning", told) for told in taken.foreign_offsets(resource, committed))
    yield from _taken("group", taken.group_problems(resource, group, committed), refuses=True)


def _taken(subject: str, problems: Iterable[str], *, refuses: bool) -> Iterator[Finding]:
    """Tell problems as warnings, or raise `CommandError` with all of them."""
    found = list(problems)
    if found and refuses:
        raise CommandError("\n".join(found), Exit.INVALID)
    yield from (Finding(subject, "warning", problem) for problem in found)


def _absent_topics(spec: Spec, report: BrokerReport, *, topics_exist: bool) -> Iterator[Finding]:
    """Say which topics do not exist; raises UnreachableError if they must."""
    if report.missing_topics:
        problem = f"spec.kafka.topics: {', '.join(report.missing_topics)}: the topic does not exist"
        later, remedy = "it is stored as soon as it exists", "create it, or remove it from the list"
    elif not report.topics:
        problem = f'spec.kafka.topicPattern: "{spec.kafka.topic_pattern}" matches no topic yet'
        later, remedy = "topics that match join by themselves", "create the topics first, or correct the pattern"
    else:
        return
    meant = f"; did you mean {' and '.join(report.similar_topics)}?" if report.similar_topics else ""
    if topics_exist:
        raise UnreachableError(f"{problem}; {remedy}{meant}")
    yield Finding("topics", "warning", f"{problem}; {later}{meant}")


def _webhook(resource: LogPersister, secrets: Secrets, _: float) -> Iterator[Finding]:
    finish = resource.spec.finish
    if finish is None or finish.webhook is None:
        return
    try:
        Webhook(finish.webhook, secrets).check()
    except NotTakenError as error:
        raise UnreachableError(f"spec.finish.webhook.url: {error}", may_pass=True) from None
    except ManifestError as error:
        raise context.invalid(error) from None
    yield Finding("webhook", "ok", f"{finish.webhook.url.partition('?')[0]}: can be reached")


def _told_topic(resource: LogPersister, secrets: Secrets, seconds: float) -> Iterator[Finding]:
    finish = resource.spec.finish
    if finish is None or finish.kafka is None:
        return
    topic = finish.kafka.topic
    config = brokers.config(resource, secrets, seconds, brokers.reach(resource, secrets, seconds))

    def describe() -> Mapping[str, TopicDescription]:
        with closing(LogReader(config, read_committed=False)) as reader:
            return reader.describe([topic])

    described = brokers.patiently(f"topic {topic} could not be described", seconds, describe)
    if topic not in described:
        message = f"spec.finish.kafka.topic: {topic}: the topic does not exist; create it, then folders are told"
        raise CommandError(message, Exit.INVALID)
    yield Finding("told", "ok", f"topic {topic} ({len(described[topic].leaders)})")


def _topics(topics: dict[str, int]) -> str:
    names = [f"{name} ({count})" for name, count in sorted(topics.items())[:_MOST_TOPICS]]
    if len(topics) > _MOST_TOPICS:
        names.append(f"{len(topics) - _MOST_TOPICS:,} more")
    return f"{plural(len(topics), 'topic')}, {plural(sum(topics.values()), 'partition')}: {', '.join(names)}"


def _overrides(spec: Spec, topics: Iterable[str]) -> Iterator[Finding]:
    """Say which entry of ``spec.overrides`` applies to which topics; one that applies to none is mostly a mistake."""
    of_entry: dict[int | None, list[str]] = {}
    for topic in sorted(topics):
        of_entry.setdefault(spec.override_of(topic), []).append(topic)
    for place, override in enumerate(spec.overrides):
        where, names = f"spec.overrides[{place}]", of_entry.get(place, [])
        if names:
            yield Finding("overrides", "ok", f"{where}: {_few(names)}")
            continue
        taken = [topic for topic in sorted(topics) if override.names(topic)]
        if taken:
            message = f"{where}: applies to no topic, because entries before it have what it names ({_few(taken)})"
            yield Finding("overrides", "warning", f"{message}; the first entry that names a topic applies")
        else:
            yield Finding("overrides", "warning", f"{where}: names no topic that Kafka has and spec.kafka selects")


def _names(resource: LogPersister, topics: Iterable[str]) -> Iterator[Finding]:
    """Say for which topics a long value could make a name that S3 refuses."""
    found = [topic for topic in sorted(topics) if may_be_too_long(resource, topic)]
    if found:
        told = (
            f"spec.output.partitionBy: {_few(found)}: long values for folders can make names of more than the "
            f"{MAX_KEY_BYTES:,} bytes that S3 takes, and their partition would stand still; shorten "
            "spec.storage.prefix and the prefixes of levels, or take fewer levels"
        )
        yield Finding("names", "warning", told)


def _table_names(spec: Spec, topics: Iterable[str]) -> Iterator[Finding]:
    """Say which topics would have one table: the first to come gets it, and the others are stored without one."""
    of_name: dict[str, list[str]] = {}
    for topic in sorted(topics):
        if (table := spec.table_of(topic)) is not None:
            of_name.setdefault(table.full_name(topic, spec.generation), []).append(topic)
    for name, some in of_name.items():
        if len(some) > 1:
            told = (
                f"spec.table.name: {_few(some)} would all have table {name}; the first of them gets it, and objects of "
                "the others are in no table; give them other names by the table of an entry of spec.overrides"
            )
            yield Finding("table", "warning", told)


def _few(names: Sequence[str]) -> str:
    more = [f"{len(names) - _MOST_TOPICS:,} more"] if len(names) > _MOST_TOPICS else []
    return ", ".join([*names[:_MOST_TOPICS], *more])


def _bucket(resource: LogPersister, secrets: Secrets, seconds: float, *, refuses: bool) -> Iterator[Finding]:
    storage = resource.spec.storage
    with bucket.opened(resource, secrets) as store:
        what = "; ".join(["can be read and written", *store.check(resource.group_id, seconds)])
        problems = list(taken.prefix_problems(resource, store))
    where = f"s3://{storage.bucket}/{storage.prefix}".rstrip("/")
    yield Finding("bucket", "ok", f"{where} at {storage.endpoint or 'AWS'}: {what}")
    if not storage.conditional_writes:
        told = (
            "spec.storage.conditionalWrites: false: members look before they write, which is not atomic "
            "(docs/guarantees.md#stores-without-conditional-writes)"
        )
        yield Finding("bucket", "warning", told)
    yield from _taken("bucket", problems, refuses=refuses)


def _registry(resource: LogPersister, secrets: Secrets, _: float, *, compares: bool) -> Iterator[Finding]:
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
        asking = islice(filter(schemas.asks, resource.spec.kafka.topics or ()), _MOST_TOPICS)
        yield from _columns_of_all(schemas, list(asking), compares=compares)


def _columns_of_all(schemas: TopicSchemas, topics: Sequence[str], *, compares: bool) -> Iterator[Finding]:
    """Say which columns topics have. One that can have none ends `check` (`compares`), and a start only if all are so.

    Raises RegistryError.
    """
    broken: dict[str, RegistryError] = {}
    for topic in topics:
        try:
            yield from _columns(schemas, topic, compares=compares)
        except RegistryError as error:
            if error.retriable or compares:
                raise
            broken[topic] = error
    if broken and len(broken) == len(topics):
        raise next(iter(broken.values()))
    for topic, why in broken.items():
        yield Finding("registry", "warning", f"{topic}: {why}; this topic waits, and all others do not")


def _columns(schemas: TopicSchemas, topic: str, *, compares: bool) -> Iterator[Finding]:
    """Say which columns a topic has; no schema yet is no reason not to start, as no topic yet is none.

    Raises RegistryError.
    """
    try:
        now = schemas.current(topic)
        spec = schemas.with_schema(topic, now).spec
        assert spec.row_schema is not None
        columns = plural(len(spec.row_schema.columns), "column")
        yield Finding("registry", "ok", f"{topic}: {columns} of version {now.version}")
        yield from _bounds("registry", f"{topic}: ", spec.row_schema)
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
    told = _few([f"{reason} (version {', '.join(versions)})" for reason, versions in by_reason.items()])
    yield Finding(
        "registry",
        "warning",
        f"{topic}: version {now.version} cannot read all versions before it: {told}; records of those {go} into "
        "quarantine; set spec.schema.registry.version to a version that reads them, or name the columns in "
        "spec.schema.fields, or replay these records out of quarantine later "
        "(docs/schemas.md#columns-from-the-registry)",
    )
