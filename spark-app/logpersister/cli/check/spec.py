"""What `logpersister check` says of a manifest alone, and of its topics."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from logpersister.cli.check.finding import Finding
from logpersister.cli.name_lengths import may_be_too_long
from logpersister.formats.registry import format_of
from logpersister.manifest import LogPersister
from logpersister.manifest.keep import header_conditions
from logpersister.manifest.output import COLUMNAR
from logpersister.manifest.parser import BY_ID, REGISTERED, Framing, Parser, ParserSpec
from logpersister.manifest.problems import some_of
from logpersister.manifest.registry import LATEST
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.spec import Spec
from logpersister.records.avro_rows import misfit as misfit_of_avro
from logpersister.records.protobuf_rows import misfit as misfit_of_message
from logpersister.storage.names import MAX_KEY_BYTES

_TOMBSTONES: Final = {
    "skip": "are in no file",
    "empty": "are stored as empty values",
    "null": "are rows like those of values whose fields are all null, because no field is required",
}


def unused_findings(spec: Spec) -> Iterator[Finding]:
    """Name the fields of the manifest that have no effect beside the others."""
    unused = dict.fromkeys(name for one in spec.shapes() for name in _unused(one))
    places = [one.types.oneof for one in spec.variants() if one.types is not None]
    if any(one is not None and one.column is not None and one.parse == "value" for one in places):
        unused["spec.types.oneof.column"] = None
    if unused:
        yield Finding("manifest", "warning", f"without effect here: {', '.join(unused)}")


def _unused(spec: Spec) -> Iterator[str]:
    """Yield the fields that are set in a spec without types and overrides, and that nothing depends on."""
    parser, output, schema = spec.parser, spec.output, spec.declared_schema
    kind, sets = parser.type, parser.model_fields_set
    own = (name for name in ("thrift", "csv", "regex") if name in sets and name != kind)
    yield from (f"spec.parser.{name}" for name in own)
    if "quarantine" in sets and not parser.has_quarantine and spec.late != "quarantine":
        yield "spec.parser.quarantine"
    if "faults" in sets and (kind == "bytes" or schema is None):
        yield "spec.parser.faults"
    if parser.faults.duplicates != "refuse" and kind in ("csv", "regex"):
        yield "spec.parser.faults.duplicates"
    if parser.unknown_fields != "drop" and (schema is None or kind == "regex" or (kind, parser.rest) == ("csv", None)):
        yield "spec.parser.unknownFields"
    if parser.rest_column is not None and parser.rest is None:
        yield "spec.parser.restColumn"
    if output.kafka_columns and output.format not in COLUMNAR:
        yield "spec.output.kafkaColumns"
    own_settings = output.sequencefile
    if own_settings is not None and own_settings.compression_type == "record" and output.compression == "none":
        yield "spec.output.sequencefile.compressionType"
    if schema is not None:
        yield from _unused_of_schema(parser, schema)


def _unused_of_schema(parser: ParserSpec, schema: SchemaSpec) -> Iterator[str]:
    key, registry = schema.key, schema.registry
    if schema.writers and not (parser.type == "avro" and parser.framing not in BY_ID):
        yield "spec.schema.writers"
    if key is not None and key.subject is not None and key.framing != "singleObject":
        yield "spec.schema.key.subject"
    if registry is None:
        return
    has_ids = parser.names_schemas or (key is not None and key.names_schemas)
    if not has_ids and not schema.asks_registry:
        yield "spec.schema.registry"
    elif registry.version is not None and (schema.fields or (registry.version == LATEST and not schema.asks_registry)):
        yield "spec.schema.registry.version"
    if schema.fields is not None and parser.names_schemas:
        yield from (f"spec.schema.{name}" for name in ("protobuf", "message") if getattr(schema, name) is not None)
    if registry.subject is not None and schema.fields is not None and parser.framing != "singleObject":
        yield "spec.schema.registry.subject"


def messages_findings(spec: Spec) -> Iterator[Finding]:
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


def bounds_findings(subject: str, where: str, schema: SchemaSpec) -> Iterator[Finding]:
    """Say what columns do not hold of the fields of a schema, and which fields are left out."""
    by_text: dict[tuple[str, bool], list[str]] = {}
    for one in schema.remarks:
        by_text.setdefault((one.text, one.is_left_out), []).append(one.path)
    for (text, is_left_out), paths in by_text.items():
        told = f"{where}{some_of(paths)}: {'left out, because ' if is_left_out else ''}{text}"
        yield Finding(subject, "warning" if is_left_out else "ok", told)


def columns_findings(spec: Spec) -> Iterator[Finding]:
    """Say the same of all schemas in the manifest, each line once: many topics and types may have one schema."""
    schemas = [one.row_schema for one in spec.shapes()]
    of_manifest = [schema for schema in schemas if schema is not None and not schema.asks_registry]
    yield from dict.fromkeys(chain.from_iterable(bounds_findings("schema", "", schema) for schema in of_manifest))


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
            is_avro = parser.type == "avro" and schema.written_by(parser.framing)
            if (parser.type == "protobuf" and schema.protobuf is not None) or is_avro:
                yield parser.type, parser.framing, schema


def left_out_findings(spec: Spec) -> Iterator[Finding]:
    """Say what readers of files may miss by the choices of formats: records without a value, whole lines."""
    choices = (
        one.output.tombstones
        for one in spec.shapes()
        if one.output.tombstones != "null" or _may_be_all_null(one.row_schema)
    )
    for choice in dict.fromkeys(choices):
        told = f"records without a value (tombstones) {_TOMBSTONES[choice]} (spec.output.tombstones: {choice})"
        yield Finding("output", "ok", told)
    texts = [one.output.text for one in spec.variants() if one.output.format == "text"]
    if any(one is not None and one.delimiter_in_value == "keep" for one in texts):
        told = "a value with the delimiter in it is several lines (spec.output.text.delimiterInValue: keep)"
        yield Finding("output", "ok", f"{told}; logpersister try counts them")


def _may_be_all_null(schema: SchemaSpec | None) -> bool:
    """Whether all fields of a row may be null; what only the registry says is not known."""
    return schema is not None and not schema.asks_registry and not any(one.required for one in schema.of_values)


def quarantine_findings(spec: Spec) -> Iterator[Finding]:
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
                f"{some_of(sorted({condition.subject for condition in conditions}))}, "
                "so logpersister quarantine replay cannot store it again; set it to parquet"
            )


def overrides_findings(spec: Spec, topics: Iterable[str]) -> Iterator[Finding]:
    """Say which entry of ``spec.overrides`` applies to which topics; one that applies to none is mostly a mistake."""
    of_entry: dict[int | None, list[str]] = {}
    for topic in sorted(topics):
        of_entry.setdefault(spec.override_of(topic), []).append(topic)
    for place, override in enumerate(spec.overrides):
        where, names = f"spec.overrides[{place}]", of_entry.get(place, [])
        if names:
            yield Finding("overrides", "ok", f"{where}: {some_of(names)}")
            continue
        taken = [topic for topic in sorted(topics) if override.names(topic)]
        if taken:
            message = f"{where}: applies to no topic, because entries before it have what it names ({some_of(taken)})"
            yield Finding("overrides", "warning", f"{message}; the first entry that names a topic applies")
        else:
            yield Finding("overrides", "warning", f"{where}: names no topic that Kafka has and spec.kafka selects")


def names_findings(resource: LogPersister, topics: Iterable[str]) -> Iterator[Finding]:
    """Say for which topics a long value could make a name that S3 refuses."""
    found = [topic for topic in sorted(topics) if may_be_too_long(resource, topic)]
    if found:
        told = (
            f"spec.output.partitionBy: {some_of(found)}: long values for folders can make names of more than the "
            f"{MAX_KEY_BYTES:,} bytes that S3 takes, and their partition would stand still; shorten "
            "spec.storage.prefix and the prefixes of levels, or take fewer levels"
        )
        yield Finding("names", "warning", told)
