"""Spec of one type: that of the topic, with what the entry of the type replaces."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

from logpersister.manifest.column import Column
from logpersister.manifest.event_types import TypeRule, TypesSpec
from logpersister.manifest.finish import FinishSpec
from logpersister.manifest.framing_rules import Rows
from logpersister.manifest.headed_schema import HeadedSchema
from logpersister.manifest.parser import ParserSpec
from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.table import TableSpec
from logpersister.manifest.types import Struct


class Typed(Rows, Protocol):
    """Sections of a spec that differ by type."""

    @property
    def declared_schema(self) -> SchemaSpec | None: ...

    @property
    def types(self) -> TypesSpec | None: ...

    @property
    def finish(self) -> FinishSpec | None: ...

    @property
    def table(self) -> TableSpec | None: ...

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...


TypedSpec = TypeVar("TypedSpec", bound=Typed)


def specs_of_types(spec: TypedSpec) -> Sequence[TypedSpec]:
    """Return what holds for the records of each rule of ``types``, as specs without types; itself without any."""
    return [spec] if spec.types is None else [_of(spec, spec.types, one) for one in spec.types.rules]


def stored_specs(spec: TypedSpec) -> Sequence[TypedSpec]:
    """Return a spec for each rule whose records are stored in folders of their own; `spec` itself without types."""
    of_types = specs_of_types(spec)
    if spec.types is None:
        return of_types
    return [one for rule, one in zip(spec.types.rules, of_types, strict=True) if rule.action == "store"]


def _of(spec: TypedSpec, types: TypesSpec, entry: TypeRule) -> TypedSpec:
    update: dict[str, object] = {"types": None, "keep": entry.keep}  # those of the topic hold before there is a type
    if entry.action != "store":  # so it is not parsed
        return spec.model_copy(update=update | {"parser": ParserSpec(), "declared_schema": None})
    parser = entry.parser
    if parser is None:
        parser = spec.parser.model_copy(update={"framing": "plain"}) if types.hands_parts else spec.parser
    elif entry.row_schema is None:
        update["declared_schema"] = None
    update["parser"] = parser
    if types.hands_parts:
        update["declared_schema"] = None  # that of the topic is of whole values
    if entry.row_schema is not None:
        update["declared_schema"] = _completed(entry.row_schema, parser, types, spec.declared_schema)
    if entry.output is not None:
        update["output"] = entry.output
    found = spec.model_copy(update=update)
    head, numbers = _head(types, spec.row_schema), {} if types.frame is None else types.frame.number_columns
    if found.row_schema is None or (head is None and not numbers):
        return found
    return found.model_copy(update={"declared_schema": HeadedSchema.of(found.row_schema, head, numbers)})


def _head(types: TypesSpec, of_topic: SchemaSpec | None) -> Column | None:
    """Return the column that types have of what stands around their values; None: there is none."""
    if types.frame is not None and types.frame.header is not None and types.frame.header.row_schema is not None:
        header = types.frame.header
        return Column(header.column, Struct(types.frame.header.row_schema.columns), required=False)
    if types.column_of_values is None or of_topic is None:
        return None
    return Column(types.column_of_values, Struct(of_topic.of_values), required=False)


def _completed(schema: SchemaSpec, parser: ParserSpec, types: TypesSpec, of_topic: SchemaSpec | None) -> SchemaSpec:
    """Return the schema of an entry with what it leaves to the topic: schemas of writers, or the text of messages."""
    if of_topic is None:
        return schema
    if parser.framing == "singleObject" and not schema.written_by(parser.framing):
        schema = schema.model_copy(update={"writers": of_topic.written_by(parser.framing)})
    of_writers = parser.names_schemas or (schema.key is not None and schema.key.names_schemas)
    if of_writers and schema.registry is None and of_topic.registry is not None:
        subject = of_topic.registry.subject if parser.framing == "singleObject" else None
        registry = of_topic.registry.model_copy(update={"version": None, "subject": subject})
        return schema.model_copy(update={"registry": registry})
    if parser.type == "protobuf" and parser.framing == "plain" and schema.protobuf is None:
        message = schema.message if schema.message is not None or types.hands_parts else of_topic.message
        return schema.model_copy(update={"protobuf": of_topic.protobuf, "message": message})
    return schema
