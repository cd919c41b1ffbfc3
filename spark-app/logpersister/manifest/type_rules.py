"""Rules about ``spec.types``: what contradicts what, for the topic and for each type."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import cast

from logpersister.manifest.event_types import TypeRule, TypesSpec
from logpersister.manifest.finish import date_levels, time_field
from logpersister.manifest.headed_schema import HeadedSchema
from logpersister.manifest.keep import named_columns
from logpersister.manifest.output import COLUMNAR
from logpersister.manifest.parser import framed
from logpersister.manifest.problems import Finding, PathStep, path_text, some_of
from logpersister.manifest.protobuf.errors import ProtobufError
from logpersister.manifest.protobuf.parts import Plan
from logpersister.manifest.protobuf.schema import read_schema
from logpersister.manifest.row_rules import RowRules
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.rule import NotInCel, rule, rules_of
from logpersister.manifest.type_specs import Typed, specs_of_types, stored_specs

_OF_EACH = NotInCel("each rule of the spec would have to be written once more for each entry")
_OTHER_TIMES = "follows the time of folders, but types have folders by different times"
_ONE_TIME = (
    "let the folders of all types be by one field (or by none), or set the trigger to record-time or process-time "
    "(docs/finish.md#topics-of-many-types)"
)
_NOT_THERE = "is not in the message of spec.schema"
_OTHER_PLACE = "write a field of type google.protobuf.Any, or a oneof, of spec.schema.message"


class TypeRules(RowRules):
    """The rules, for a spec that has these fields."""

    @rule(
        "!has(self.schema) || !has(self.schema.key) || $parser.quarantine.format == 'parquet' || has(self.types)",
        "cannot keep the keys and null values of refused records, but spec.schema parses keys",
        "set it to parquet",
        *("parser", "quarantine", "format"),
    )
    def _quarantine_keeps_refused_keys(self: Typed) -> bool:
        keeps_all = self.types is not None or self.parser.keeps_all_in_quarantine
        return self.row_schema is None or self.row_schema.key is None or keeps_all

    @rule(
        NotInCel("the levels of all entries would have to be compared"),
        _OTHER_TIMES,
        _ONE_TIME,
        *("finish", "trigger"),
    )
    def _types_are_finished_by_one_time(self: Typed) -> Sequence[Finding]:
        if self.finish is None or self.types is None or self.finish.trigger != "partition-time":
            return []
        in_frames = self.types.frame is not None and self.types.frame.timestamp is not None
        of_records = "the timestamp of frames" if in_frames else "the record's timestamp"
        by_date = (one.output.partition_by for one in stored_specs(self) if date_levels(one.output.partition_by))
        times = sorted({str(time_field(levels) or of_records) for levels in by_date})
        if len(times) < 2:
            return []
        return [Finding(f"{_OTHER_TIMES}: {', '.join(times)}", _ONE_TIME, ("finish", "trigger"), '"partition-time"')]

    @rule(
        "!has(self.types) || !has(self.keep) || self.keep.all(one, !has(one.field))",
        "names a field, but beside spec.types each type has columns of its own",
        "name headers here, and fields in keep of the entries of spec.types",
        "keep",
    )
    def _conditions_of_all_types_are_on_headers(self: Typed) -> bool:
        return self.types is None or not named_columns(self.keep)

    @rule(
        f"!has(self.types) || !has(self.types.schemaName)"
        f" || $parser.type in ['avro', 'protobuf'] && !{framed('plain')}",
        "needs values that name their schema, but spec.parser has no such header",
        "set spec.parser.type to avro or protobuf, and spec.schema.registry (docs/types.md#by-the-schemas-name)",
        *("types", "schemaName"),
    )
    def _values_name_their_schema(self: Typed) -> bool:
        return self.types is None or self.types.schema_name is None or self.parser.names_schemas

    @rule(
        "!has(self.types) || !has(self.types.any) && !has(self.types.oneof) || $parser.type == 'protobuf'",
        "finds types in messages of protobuf, but spec.parser reads no messages",
        "set spec.parser.type to protobuf, and spec.schema to the schema of the whole values",
        "types",
    )
    def _types_in_messages_are_of_protobuf(self: Typed) -> bool:
        return self.types is None or not self.types.is_in_messages or self.parser.type == "protobuf"

    @rule(
        NotInCel("it would have to understand Avro, protobuf and Thrift"),
        _NOT_THERE,
        _OTHER_PLACE,
        "types",
    )
    def _types_are_in_the_message(self: Typed) -> Sequence[Finding]:
        text = None if self.row_schema is None else self.row_schema.protobuf
        if self.types is None or self.row_schema is None or text is None or self.parser.framing != "plain":
            return []
        try:
            schema = read_schema(text)
            plan = self.types.plan(schema, schema.message(self.row_schema.message))
        except ProtobufError as error:
            at = ("types", "oneof", "name") if self.types.oneof is not None else ("types", "any", "field")
            return [Finding(f"{_NOT_THERE}: {error}", _OTHER_PLACE, at)]
        return [] if self.types.oneof is None else list(_unknown_members(self.types, plan))

    @rule(
        "!has(self.types) || !(has(self.types.any) && has(self.types.any.column)"
        " || has(self.types.oneof) && has(self.types.oneof.column)) || has(self.schema)"
        " && (has(self.schema.fields) || has(self.schema.protobuf))",
        "has a column of the whole message, but spec.schema declares no columns",
        "name the fields of the whole message in spec.schema.fields",
        "types",
    )
    def _whole_messages_have_columns(self: Typed) -> bool:
        if self.types is None or self.types.column_of_values is None:
            return True
        return self.row_schema is not None and not self.row_schema.asks_registry

    @rule(
        _OF_EACH,
        "does not go together with the rest of the spec",
        "correct the entry; what it does not set is that of the topic",
        "types",
    )
    def _types_fit(self: Typed) -> Sequence[Finding]:
        if self.types is None:
            return []
        own = _findings(self)
        return [
            of_entry(place, self.types, finding)
            for place, (entry, spec) in enumerate(zip(self.types.rules, specs_of_types(self), strict=True))
            if entry.action == "store"
            for finding in _of_entries(self.types, entry, spec)
            if finding not in own
        ]

    @rule(
        _OF_EACH,
        "does not apply beside spec.types, where quarantine is always Parquet with all of a record",
        "remove it; the limit is spec.types.holdAbove",
        *("parser", "quarantine"),
    )
    def _types_have_one_quarantine(self: Typed) -> Sequence[Finding]:
        if self.types is None:
            return []
        told = "does not apply beside spec.types, where quarantine is always Parquet with all of a record"
        of_entries = [(("types", *where(place, self.types)), one.parser) for place, one in enumerate(self.types.rules)]
        return [
            Finding(told, "remove it; the limit is spec.types.holdAbove", (*at, "parser", "quarantine"))
            for at, parser in [((), self.parser), *of_entries]
            if parser is not None and "quarantine" in parser.model_fields_set
        ]


def _unknown_members(types: TypesSpec, plan: Plan) -> Iterator[Finding]:
    """Yield the names of entries that no field of a oneof has."""
    members = [one["name"] for one in plan["members"] if one["name"]]
    for place, entry in enumerate(types.entries):
        for number, name in enumerate(entry.names or ()):
            if name not in members:
                remedy = f"name a field of the oneof ({some_of(members)}), or remove it"
                yield Finding(_NOT_THERE, remedy, ("types", "entries", place, "names", number), f'"{name}"')


def _findings(spec: Typed) -> list[Finding]:
    return [one for of in rules_of(RowRules) for one in of.findings(cast("RowRules", spec))]


def _of_entries(types: TypesSpec, entry: TypeRule, spec: Typed) -> list[Finding]:
    schema = spec.declared_schema
    if schema is not None and entry.row_schema is not None and schema != entry.row_schema:  # completed by the topic's
        found = [replace(one, at=("schema", *one.at)) for of in rules_of(SchemaSpec) for one in of.findings(schema)]
        if entry.row_schema.protobuf is None and schema.protobuf is not None and schema.message is None:
            told = "is missing, and spec.schema.protobuf begins with the message of whole values"
            found.append(Finding(told, "name the message of the type", ("schema", "message")))
        if found:
            return found
    return [*_findings(spec), *_of_types(types, spec)]


def _of_types(types: TypesSpec, spec: Typed) -> list[Finding]:
    """Return what is wrong with the spec of an entry, beside what would be wrong without types."""
    found: list[Finding] = []
    schema, column = spec.row_schema, types.prefix.removesuffix("=").lower()
    if schema is not None and schema.asks_registry:
        told = "declares no columns, but columns of types cannot come from a registry"
        found.append(Finding(told, "name them in fields, avro, protobuf or jsonSchema", ("schema",)))
    if schema is not None and schema.hidden:
        told = "hides fields, but quarantine of types stores values unchanged"
        found.append(Finding(told, "remove hash, mask and drop", ("schema",)))
    names = [] if schema is None else [one.name.lower() for one in schema.columns]
    for added in schema.added if isinstance(schema, HeadedSchema) else ():
        if names.count(added.name.lower()) > 1:
            told = f"has a field of the name of the column {added.name}, which spec.types adds; case does not count"
            found.append(Finding(told, "name the column otherwise, in spec.types", ("schema",)))
    columns = set() if schema is None or spec.output.format not in COLUMNAR else {one.name for one in schema.columns}
    if column in (one.lower() for one in columns):
        told = f"has a field of the name of the folder {types.prefix}, which readers take for one column"
        found.append(Finding(told, "set another spec.types.prefix, for example event_type=", ("schema",)))
    if column in (one.lower() for one in spec.output.folder_columns):
        told = f"has folders that begin with {types.prefix}, as those of types do"
        found.append(Finding(told, "set another prefix", ("output", "partitionBy")))
    if (types.frame is not None or types.hands_parts) and spec.parser.type == "json" and schema is None:
        told = "checks a part of the value, but without a schema the whole value is stored"
        found.append(Finding(told, "name the columns in schema, or take parser bytes", ("parser",)))
    if types.hands_parts and spec.parser.framing != "plain":
        told = "needs a header, but parsers get parts of messages, which have none"
        found.append(Finding(told, "set framing to plain", ("parser",)))
    return found


def where(place: int, types: TypesSpec) -> tuple[PathStep, ...]:
    return ("others",) if place == len(types.entries) else ("entries", place)


def of_entry(place: int, types: TypesSpec, finding: Finding) -> Finding:
    """Return what is wrong with the records of an entry, told where it can be put right."""
    at = ("types", *where(place, types))
    if finding.at and finding.at[0] in types.rules[place].blocks:
        return replace(finding, at=(*at, *finding.at))
    told = f"does not go together with {path_text(('spec', *finding.at))}, which then {finding.expectation}"
    step = finding.at[0] if finding.at else "parser"
    return Finding(told, f"set {step} in this entry, too, or correct it: {finding.remedy}", at)
