"""Rules about ``spec.types``: what contradicts what, for the topic and for each type."""

from collections.abc import Iterator
from dataclasses import replace

from logpersister.forms.problems import Finding, PathStep, path_text, some_of
from logpersister.forms.rule import refuses, rules_of
from logpersister.manifest.blocks.event_types import TypesSpec
from logpersister.manifest.blocks.finish import date_levels, time_field
from logpersister.manifest.blocks.keep import named_columns
from logpersister.manifest.blocks.output import COLUMNAR
from logpersister.manifest.rules.row_rules import RowRules
from logpersister.manifest.rules.sections import Sections
from logpersister.schemas.errors import SchemaTextError
from logpersister.values.protobuf.parts import Plan
from logpersister.values.protobuf.schema import read_schema
from logpersister.values.protobuf.source import protobuf_of
from logpersister.values.readable import column_findings

_OTHER_TIMES = "follows the time of folders, but types have folders by different times"
_ONE_TIME = (
    "let the folders of all types be by one field (or by none), or set the trigger to record-time or process-time "
    "(docs/finish.md#topics-of-many-types)"
)
_NOT_THERE = "is not in the message of spec.value"
_OTHER_PLACE = "write a field of type google.protobuf.Any, or a oneof, of the message of spec.value"


class TypeRules(RowRules):
    """The rules, for a spec that has these fields."""

    @refuses
    def _types_are_finished_by_one_time(self) -> Iterator[Finding]:
        if self.finish is None or self.types is None or self.finish.trigger != "partition-time":
            return
        in_frames = self.types.frame is not None and self.types.frame.timestamp is not None
        of_records = "the timestamp of frames" if in_frames else "the record's timestamp"
        by_date = (one.output.partition_by for one in self.stored_types() if date_levels(one.output.partition_by))
        times = sorted({str(time_field(levels) or of_records) for levels in by_date})
        if len(times) > 1:
            told = f"{_OTHER_TIMES}: {', '.join(times)}"
            yield Finding(told, _ONE_TIME, ("finish", "trigger"), '"partition-time"')

    @refuses
    def _types_can_be_found(self) -> Iterator[Finding]:
        types = self.types
        if types is None:
            return
        if named_columns(self.keep):
            told = "names a field, but beside spec.types each type has columns of its own"
            remedy = "name headers here, and fields in keep of the entries of spec.types"
            yield Finding(told, remedy, ("keep",))
        if types.schema_name is not None and not self.parser.names_schemas:
            told = "needs values that name their schema, but spec.value has no such header"
            remedy = "set spec.value to avro or protobuf with a registry (docs/types.md#by-the-schemas-name)"
            yield Finding(told, remedy, ("types", "schemaName"))
        if types.is_in_messages and self.parser.type != "protobuf":
            told = "finds types in messages of protobuf, but spec.value is none"
            yield Finding(told, "set spec.value.protobuf to the schema of the whole values", ("types",))
        has_columns = self.row_schema.has_columns and not self.row_schema.asks_registry
        if types.column_of_values is not None and not has_columns:
            told = "has a column of the whole message, but spec.value declares no columns"
            yield Finding(told, "name the fields of the whole message in spec.value", ("types",))

    @refuses
    def _types_are_in_the_message(self) -> Iterator[Finding]:
        source = protobuf_of(self.row_schema)
        if self.types is None or source.text is None or self.parser.framing != "plain":
            return
        try:
            schema = read_schema(source.text)
            plan = self.types.plan(schema, schema.message(source.message))
        except SchemaTextError as error:
            at = ("types", "oneof", "name") if self.types.oneof is not None else ("types", "any", "field")
            yield Finding(f"{_NOT_THERE}: {error}", _OTHER_PLACE, at)
            return
        if self.types.oneof is not None:
            yield from _unknown_members(self.types, plan)

    @refuses
    def _types_fit(self) -> Iterator[Finding]:
        if self.types is None:
            return
        own = _findings(self)
        for place, (entry, spec) in enumerate(zip(self.types.rules, self.of_types(), strict=True)):
            completed = entry.value is not None and spec.value != entry.value
            if entry.action == "store":
                found = _of_types(self.types, spec, completed=completed)
                yield from (of_entry(place, self.types, one) for one in found if one not in own)


def _unknown_members(types: TypesSpec, plan: Plan) -> Iterator[Finding]:
    members = [one["name"] for one in plan["members"] if one["name"]]
    for place, entry in enumerate(types.entries):
        for number, name in enumerate(entry.names or ()):
            if name not in members:
                remedy = f"name a field of the oneof ({some_of(members)}), or remove it"
                yield Finding(_NOT_THERE, remedy, ("types", "entries", place, "names", number), f'"{name}"')


def _findings(spec: Sections) -> list[Finding]:
    return [one for of in rules_of(RowRules) for one in of.findings(spec)]


def _of_types(types: TypesSpec, spec: Sections, *, completed: bool) -> Iterator[Finding]:
    """Yield what is wrong with the spec of an entry.

    Args:
        types: what finds types.
        spec: of the entry.
        completed: whether its value has something of the topic's, so that it was not judged before.
    """
    schema, kind = spec.row_schema, spec.value.kind
    if completed and schema.has_columns:
        wrong = [replace(one, at=("value", *one.at)) for one in column_findings(kind, spec.value.row_schema)]
        yield from wrong
        if wrong:
            return  # there are no columns to be judged
    yield from _findings(spec)
    if schema.asks_registry:
        told = "declares no columns, but columns of types cannot come from a registry"
        yield Finding(told, "name them in fields, schema or jsonSchema", ("value",))
    if schema.hidden:
        told = "hides fields, but quarantine of types stores values unchanged"
        yield Finding(told, "remove hash, mask and drop", ("value",))
    yield from _names_beside_types(types, spec)
    if (types.frame is not None or types.hands_parts) and kind == "json" and not schema.has_columns:
        told = "checks a part of the value, but without columns the whole value is stored"
        yield Finding(told, "name the columns in fields, or take bytes", ("value",))
    if types.hands_parts and spec.parser.framing != "plain":
        told = "needs a header, but parsers get parts of messages, which have none"
        yield Finding(told, "remove registry, singleObject or framing from it", ("value",))


def _names_beside_types(types: TypesSpec, spec: Sections) -> Iterator[Finding]:
    schema, column = spec.row_schema, types.prefix.removesuffix("=").lower()
    names = [one.name.lower() for one in schema.columns if schema.has_columns]
    for added in schema.added:
        if names.count(added.name.lower()) > 1:
            told = f"has a field of the name of the column {added.name}, which spec.types adds; case does not count"
            yield Finding(told, "name the column otherwise, in spec.types", ("value",))
    if spec.output.format in COLUMNAR and column in names:
        told = f"has a field of the name of the folder {types.prefix}, which readers take for one column"
        yield Finding(told, "set another spec.types.prefix, for example event_type=", ("value",))
    if column in (one.lower() for one in spec.output.folder_columns):
        told = f"has folders that begin with {types.prefix}, as those of types do"
        yield Finding(told, "set another prefix", ("output", "partitionBy"))


def where(place: int, types: TypesSpec) -> tuple[PathStep, ...]:
    return ("others",) if place == len(types.entries) else ("entries", place)


def of_entry(place: int, types: TypesSpec, finding: Finding) -> Finding:
    """Return what is wrong with the records of an entry, told where it can be put right."""
    at = ("types", *where(place, types))
    if finding.at and finding.at[0] in types.rules[place].blocks:
        return replace(finding, at=(*at, *finding.at))
    told = f"does not go together with {path_text(('spec', *finding.at))}, which then {finding.expectation}"
    step = finding.at[0] if finding.at else "value"
    return Finding(told, f"set {step} in this entry, too, or correct it: {finding.remedy}", at)
