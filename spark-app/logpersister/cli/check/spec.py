"""What `logpersister check` says of a manifest alone, and of its topics."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from logpersister.cli.check.finding import Finding
from logpersister.compiled.formats import formats_of
from logpersister.forms.problems import some_of
from logpersister.manifest import LogPersister
from logpersister.manifest.blocks.keep import header_conditions
from logpersister.manifest.blocks.partition_rule import PartitionRule
from logpersister.manifest.spec import Spec
from logpersister.records.escaping import late_path
from logpersister.records.field_paths import MOST_BYTES
from logpersister.records.type_names import names_of
from logpersister.storage.names import MAX_KEY_BYTES, facts_key, object_key, replay_extension
from logpersister.values.avro.rows import misfit as misfit_of_avro
from logpersister.values.parser import REGISTERED, Framing, Parser
from logpersister.values.protobuf.rows import misfit as misfit_of_message
from logpersister.values.protobuf.source import protobuf_of
from logpersister.values.registry import LATEST
from logpersister.values.row_schema import RowSchema

_TOMBSTONES: Final = {
    "skip": "are in no file",
    "empty": "are stored as empty values",
    "null": "are rows like those of values whose fields are all null, because no field is required",
}


_ESCAPED: Final = 12
"""Characters that one character of text becomes at most: four bytes of UTF-8, each percent-encoded."""
_OF_NUMBERS: Final = 20
"""Characters of a time, an offset or a bucket at most."""
_PARTITION: Final = 10**6
_GENERATION: Final = 2**31 - 1
_OFFSET: Final = 10**19
_REPLAY: Final = "0" * 12
_ATTEMPT: Final = "0" * 16


def may_be_too_long(resource: LogPersister, topic: str) -> bool:
    """Return whether an object of a topic, or the document beside it, may have a longer name than S3 takes."""
    spec = resource.spec.for_topic(topic)
    prefix = spec.storage.prefix
    for path, extension in _longest(spec):
        try:
            key = object_key(
                prefix, topic, path, _GENERATION, _PARTITION, _OFFSET, replay_extension(_REPLAY, extension)
            )
            facts_key(prefix, resource.group_id, key, _ATTEMPT)
        except ValueError:
            return True
    return False


def _longest(spec: Spec) -> Iterator[tuple[str, str]]:
    """Yield the longest path of folders for each way in which records are written, with the extension of files."""
    of_type = names_of(spec.types).folder_of("x" * MOST_BYTES)
    for one in spec.of_types():
        path = "/".join([*filter(None, [of_type]), *map(_longest_folder, one.output.partition_by)])
        yield late_path(path) if path and spec.finish is not None else path, formats_of(one).at("").extension


def _longest_folder(level: PartitionRule) -> str:
    length = _OF_NUMBERS
    if level.field is not None or level.lower is not None:
        length = MOST_BYTES
    elif level.truncate is not None:
        length = max(length, min(MOST_BYTES, _ESCAPED * level.truncate.width))
    return level.folder_prefix + "x" * length


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
    schema, settings = spec.row_schema, spec.output.sequencefile
    if "quarantine" in spec.model_fields_set and not spec.has_quarantine:
        yield "spec.quarantine"
    if spec.key is not None and not schema.has_columns:
        yield "spec.key"
    if settings is not None and settings.compression_type == "record" and settings.compression == "none":
        yield "spec.output.sequencefile.compressionType"
    kind = spec.value.kind
    if spec.value.json_ is not None and not schema.has_columns:
        yield from (
            f"spec.value.json.{name}" for name in spec.value.json_.model_dump(by_alias=True, exclude_unset=True)
        )
    elif spec.parser.rest_column is not None and spec.parser.rest is None:
        yield f"spec.value.{kind}.restColumn"
    registry = spec.value.registry
    if registry is None:
        return
    has_keys = schema.key is not None and schema.key.names_schemas
    if not (spec.parser.names_schemas or has_keys or schema.asks_registry):
        yield f"spec.value.{kind}.registry"
    elif registry.version is not None and (schema.fields or (registry.version == LATEST and not schema.asks_registry)):
        yield f"spec.value.{kind}.registry.version"
    if registry.subject is not None and schema.fields is not None and spec.parser.framing != "singleObject":
        yield f"spec.value.{kind}.registry.subject"
    if schema.fields is not None and spec.parser.names_schemas and protobuf_of(schema).has_text:
        yield f"spec.value.{kind}.schema"
    if schema.fields is not None and spec.parser.names_schemas and protobuf_of(schema).message is not None:
        yield f"spec.value.{kind}.message"


def messages_findings(spec: Spec) -> Iterator[Finding]:
    """Say why what schemas of the manifest have written can be no rows.

    Only the native parser knows, which the operator has not.
    """
    for kind, framing, schema in dict.fromkeys(_written_by_manifest(spec)):
        texts = schema.written_by(framing)
        for text in texts:
            problem = misfit_of_avro(schema, text) if kind == "avro" else misfit_of_message(schema, text)
            if problem is not None:
                records = "all records" if len(texts) == 1 else "records of this schema"
                told = f"the fields of spec.value: {problem}; {records} would go into quarantine"
                yield Finding("schema", "warning", f"{told}; correct the field or the schema of the values")


def bounds_findings(subject: str, where: str, schema: RowSchema) -> Iterator[Finding]:
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
    of_manifest = [schema for schema in schemas if not schema.asks_registry]
    yield from dict.fromkeys(chain.from_iterable(bounds_findings("schema", "", schema) for schema in of_manifest))


def _written_by_manifest(spec: Spec) -> Iterator[tuple[Parser, Framing, RowSchema]]:
    """Yield what says by which schemas of the manifest values, or keys, were written."""
    for one in spec.shapes():
        key = one.row_schema.key
        found = [(one.parser, one.row_schema.as_written)]
        if key is not None and key.as_values is not None and key.parser in REGISTERED:
            found.append((key.as_values, key.schema))
        for parser, schema in found:
            if parser.type in REGISTERED and schema.written_by(parser.framing):
                yield parser.type, parser.framing, schema


def left_out_findings(spec: Spec) -> Iterator[Finding]:
    """Say what readers of files may miss by the choices of formats: records without a value, whole lines."""
    choices = (
        one.output.tombstones
        for one in spec.shapes()
        if one.output.tombstones != "null" or _may_be_all_null(one.row_schema)
    )
    for choice in dict.fromkeys(choices):
        told = f"records without a value {_TOMBSTONES[choice]} (tombstones: {choice})"
        yield Finding("output", "ok", told)
    texts = [one.output.text for one in spec.variants() if one.output.format == "text"]
    if any(one is not None and one.delimiter_in_value == "keep" for one in texts):
        told = "a value with the delimiter in it is several lines (spec.output.text.delimiterInValue: keep)"
        yield Finding("output", "ok", f"{told}; logpersister try counts them")


def _may_be_all_null(schema: RowSchema) -> bool:
    """Whether all fields of a row may be null; what only the registry says is not known."""
    known = schema.has_columns and not schema.asks_registry
    return known and not any(one.required for one in schema.of_values)


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
        quarantine = "spec" if entry is None or entry.quarantine is None else entry_name
        keep = "spec" if entry is None or entry.keep is None else entry_name
        format_at = f"{quarantine}.quarantine.format: format {one.output.format} does not keep"
        conditions = header_conditions(one.keep)
        if not one.output.keeps_records:
            yield (
                f"{format_at} all of a record that the parser refuses, "
                "so logpersister quarantine replay cannot store it again; set it to parquet"
            )
        elif conditions and not formats_of(one).wants_headers:
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
