"""Sections of a spec, and what holds for single topics and types: what entries of them replace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, PrivateAttr

from logpersister.forms.constraint import Model, Whole
from logpersister.manifest.blocks.event_types import TypeRule, TypesSpec
from logpersister.manifest.blocks.finish import FinishSpec, Late, date_levels
from logpersister.manifest.blocks.kafka import KafkaSpec
from logpersister.manifest.blocks.keep import Conditions
from logpersister.manifest.blocks.output import OutputSpec
from logpersister.manifest.blocks.overrides import MOST_OVERRIDES, Override
from logpersister.manifest.blocks.storage import CopiedStorageSpec
from logpersister.manifest.blocks.table import TableSpec
from logpersister.manifest.blocks.upload import UploadSpec
from logpersister.schemas.types import Column, Struct
from logpersister.values.key import KeySpec
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.block import ProtobufValue
from logpersister.values.quarantine import QuarantineSpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.value import ANY_BYTES, ValueSpec


@dataclass(frozen=True, slots=True)
class Around:
    """Columns of the records of a type of what stands around their values."""

    head: Column | None
    """Column of the header of frames, or of the whole message; None: there is none."""
    numbers: Mapping[str, Column]
    """Columns of numbers of frames, by which number it is."""


_ALL_RECORDS: Final = TypeRule()
"""What becomes of the records of a topic without types."""


class Sections(Model):
    """Sections of a spec that rules and functions about topics and types read."""

    model_config = ConfigDict(defer_build=True)

    generation: Annotated[int, Whole(1, 2**31 - 1)] = 1
    """Part of every object's name."""

    kafka: KafkaSpec
    """Where records come from."""

    storage: CopiedStorageSpec
    """Where objects go."""

    output: OutputSpec = OutputSpec()
    """Content of objects and their folders."""

    value: ValueSpec = ANY_BYTES
    """What values are, and the columns that they become. Records with other values are stored in quarantine. Default:
    any bytes, stored as they are.
    """

    key: KeySpec | None = None
    """The column that keys become, of records whose values become columns (docs/schemas.md#keys). Default: none."""

    quarantine: QuarantineSpec = QuarantineSpec()
    """How records are stored whose values are not what `value` says."""

    keep: Conditions = ()
    """Conditions that a record must fulfil to be stored, all of them; other records are counted and left out
    (docs/filters.md).
    """

    types: TypesSpec | None = None
    """Types of records in mixed topics (docs/types.md). Not for topics of an `overrides` entry with a value."""

    upload: UploadSpec = UploadSpec()
    """When records become an object."""

    table: TableSpec | None = None
    """Table with the rows of the stored objects, each exactly once (docs/tables.md). Only with format `parquet`."""

    overrides: Annotated[tuple[Override, ...], Field(max_length=MOST_OVERRIDES)] = ()
    """Other values, outputs and limits for some topics."""

    finish: FinishSpec | None = None
    """Files that tell readers when a folder by time is complete (docs/finish.md)."""

    _around: Around | None = PrivateAttr(default=None)
    """Columns of what stands around the values of a type."""

    @property
    def parser(self) -> Parsing:
        """How values are read."""
        return self.value.parser.model_copy(update={"quarantine": self.quarantine})

    @property
    def row_schema(self) -> RowSchema:
        """The columns that values and keys become."""
        schema, around = self.value.row_schema, self._around
        if not schema.has_columns:
            return schema
        if self.key is not None:
            key = self.key.beside(schema.registry)
            schema = replace(schema, key=key.compiled, registry=schema.registry or key.registry)
        return schema if around is None else replace(schema, head=around.head, numbers=around.numbers)

    def override_of(self, topic: str) -> int | None:
        """Return the place of the entry of `overrides` that applies to a topic; None: the group's blocks do."""
        return next((place for place, one in enumerate(self.overrides) if one.names(topic)), None)

    def with_override(self, override: Override | None) -> Self:
        """Return what holds for topics of an entry, as a spec without entries; None: for those that no entry names."""
        if not self.overrides:
            return self
        if override is None:
            return self.model_copy(update={"overrides": ()})
        update: dict[str, object] = {"overrides": ()}
        if override.value is not None:
            update |= {"value": override.value, "types": None}
        others = {name: getattr(override, name) for name in ("key", "quarantine", "output", "keep")}
        update |= {name: block for name, block in others.items() if block is not None}
        if override.table is not None and self.table is not None:
            update["table"] = self.table.model_copy(update=dict(override.table))
        if override.upload is not None:
            set_here = {name: value for name, value in dict(override.upload).items() if value is not None}
            update["upload"] = self.upload.model_copy(update=set_here)
        found = self.model_copy(update=update)
        if override.output is None or any(date_levels(one.output.partition_by) for one in found.stored_types()):
            return found
        return found.model_copy(update={"finish": None})

    def variants(self) -> Sequence[Self]:
        """Return what holds for topics: the group's spec, and that of each entry of `overrides`, without overrides."""
        return [self.with_override(one) for one in (None, *self.overrides)]

    @property
    def type_rules(self) -> Sequence[TypeRule]:
        """What becomes of the records of each type, in the order of `of_types`."""
        return [_ALL_RECORDS] if self.types is None else self.types.rules

    def of_types(self) -> Sequence[Self]:
        """Return what holds for the records of each rule of `types`, as specs without types; itself without any."""
        return [self] if self.types is None else [self._of_type(self.types, one) for one in self.types.rules]

    def stored_types(self) -> Sequence[Self]:
        """Return a spec for each rule whose records are stored in folders of their own; itself without types."""
        return [one for rule, one in zip(self.type_rules, self.of_types(), strict=True) if rule.action == "store"]

    @property
    def leaves_out(self) -> bool:
        """Whether records may be in no object, overrides aside."""
        return bool(self.keep) or any(one.action == "drop" or one.keep for one in self.type_rules)

    @property
    def late(self) -> Late:
        """Where records go that come when their folder is finished."""
        return "append" if self.finish is None else self.finish.late

    @property
    def quarantines_late(self) -> bool:
        """Whether they go to quarantine."""
        return self.late == "quarantine"

    @property
    def keeps_refused_values(self) -> bool:
        """Whether values that the parser refuses are stored, of a spec without overrides."""
        return self.quarantine.keeps_refused_values(hides=bool(self.row_schema.hidden))

    def _of_type(self, types: TypesSpec, entry: TypeRule) -> Self:
        update: dict[str, object] = {"types": None, "keep": entry.keep}  # the topic's hold before there is a type
        if entry.action != "store":  # so it is not parsed
            return self.model_copy(update=update | {"value": ANY_BYTES})
        of_topic = ValueSpec(protobuf=ProtobufValue()) if types.hands_parts else self.value
        update["value"] = of_topic if entry.value is None else completed(entry.value, self.value, types)
        key = entry.key or self.key
        update["key"] = None if key is None else key.beside(self.value.registry)
        if entry.output is not None:
            update["output"] = entry.output
        found = self.model_copy(update=update)
        around = Around(_head(types, self.row_schema), {} if types.frame is None else types.frame.number_columns)
        if around.head is not None or around.numbers:
            found._around = around  # noqa: SLF001 - a copy of ours
        return found


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
