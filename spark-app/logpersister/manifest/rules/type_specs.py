"""Spec of one type: that of the topic, with what the entry of the type replaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self, TypeVar

from logpersister.manifest.blocks.event_types import TypeRule, TypesSpec
from logpersister.manifest.blocks.finish import FinishSpec
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.blocks.keep import Condition
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.blocks.overrides import Override
from logpersister.manifest.blocks.storage import StorageSpec
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.blocks.upload import UploadSpec
from logpersister.schemas.column import Column
from logpersister.schemas.types import Struct
from logpersister.values.key import KeySpec
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.block import ProtobufValue
from logpersister.values.row_schema import RowSchema
from logpersister.values.value import ANY_BYTES, ValueSpec


@dataclass(frozen=True, slots=True)
class Around:
    """Columns of the records of a type of what stands around their values."""

    head: Column | None
    """Column of the header of frames, or of the whole message; None: there is none."""
    numbers: Mapping[str, Column]
    """Columns of numbers of frames, by which number it is."""


class Sections(Protocol):
    """Sections of a spec, as functions and rules below it read them."""

    @property
    def kafka(self) -> KafkaSpec: ...

    @property
    def storage(self) -> StorageSpec: ...

    @property
    def value(self) -> ValueSpec: ...

    @property
    def key(self) -> KeySpec | None: ...

    @property
    def parser(self) -> Parsing: ...

    @property
    def row_schema(self) -> RowSchema: ...

    @property
    def output(self) -> OutputSpec: ...

    @property
    def keep(self) -> Sequence[Condition]: ...

    @property
    def types(self) -> TypesSpec | None: ...

    @property
    def finish(self) -> FinishSpec | None: ...

    @property
    def table(self) -> TableSpec | None: ...

    @property
    def upload(self) -> UploadSpec: ...

    @property
    def overrides(self) -> Sequence[Override]: ...

    @property
    def leaves_out(self) -> bool: ...

    @property
    def quarantines_late(self) -> bool: ...

    @property
    def keeps_refused_values(self) -> bool: ...

    def override_of(self, topic: str) -> int | None: ...

    def variants(self) -> "Sequence[Sections]": ...

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self: ...

    def with_columns(self, around: Around) -> Self: ...


_ALL_RECORDS: Final = TypeRule()
"""What becomes of the records of a topic without types."""
AnySpec = TypeVar("AnySpec", bound=Sections)


def specs_of_types(spec: AnySpec) -> Sequence[AnySpec]:
    """Return what holds for the records of each rule of ``types``, as specs without types; itself without any."""
    return [spec] if spec.types is None else [_of(spec, spec.types, one) for one in spec.types.rules]


def rules_of_types(spec: Sections) -> Sequence[TypeRule]:
    """Return what becomes of the records of each type, in the order of `specs_of_types`."""
    return [_ALL_RECORDS] if spec.types is None else spec.types.rules


def stored_specs(spec: AnySpec) -> Sequence[AnySpec]:
    """Return a spec for each rule whose records are stored in folders of their own; `spec` itself without types."""
    return [one for rule, one in zip(rules_of_types(spec), specs_of_types(spec), strict=True) if rule.action == "store"]


def _of(spec: AnySpec, types: TypesSpec, entry: TypeRule) -> AnySpec:
    update: dict[str, object] = {"types": None, "keep": entry.keep}  # those of the topic hold before there is a type
    if entry.action != "store":  # so it is not parsed
        return spec.model_copy(update=update | {"value": ANY_BYTES})
    of_topic = ValueSpec(protobuf=ProtobufValue()) if types.hands_parts else spec.value
    update["value"] = of_topic if entry.value is None else completed(entry.value, spec.value, types)
    key = entry.key or spec.key
    update["key"] = None if key is None else key.beside(spec.value.registry)
    if entry.output is not None:
        update["output"] = entry.output
    found = spec.model_copy(update=update)
    around = Around(_head(types, spec.row_schema), {} if types.frame is None else types.frame.number_columns)
    return found if around.head is None and not around.numbers else found.with_columns(around)


def _head(types: TypesSpec, of_topic: RowSchema) -> Column | None:
    """Return the column that types have of what stands around their values; None: there is none."""
    if types.frame is not None and types.frame.header is not None and types.frame.header.row_schema is not None:
        header = types.frame.header
        return Column(header.column, Struct(types.frame.header.row_schema.columns), required=False)
    if types.column_of_values is None or not of_topic.has_columns:
        return None
    return Column(types.column_of_values, Struct(of_topic.of_values), required=False)


def completed(value: ValueSpec, of_topic: ValueSpec, types: TypesSpec) -> ValueSpec:
    """Return the value of an entry with what it leaves to the topic: schemas of writers, or the text of messages."""
    registry = None if types.hands_parts else of_topic.registry
    if value.avro is not None:
        avro = value.avro.beside(registry)
        of_writers = None if of_topic.avro is None or types.hands_parts else of_topic.avro.of_writers
        if avro.single_object is None and avro.writer is None and value.avro.registry is None:
            avro = avro.model_copy(update={"single_object": of_writers})
        return value.model_copy(update={"avro": avro})
    if value.protobuf is None:
        return value
    protobuf, text = value.protobuf.beside(registry), of_topic.protobuf
    if protobuf.registry is None and not protobuf.row_schema.has_text and text is not None:
        message = protobuf.message if protobuf.message is not None or types.hands_parts else text.message
        protobuf = protobuf.model_copy(update={"read_schema": text.read_schema, "message": message})
    return value.model_copy(update={"protobuf": protobuf})
