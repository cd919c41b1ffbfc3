"""``spec.key``: the column that keys become."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister.forms.notation import Notation
from logpersister.forms.problems import Finding
from logpersister.forms.rule import exactly_one, refuses, rules_of
from logpersister.values.avro.block import AvroKey
from logpersister.values.field import FieldSpec, TypeText
from logpersister.values.json.block import JsonKey
from logpersister.values.kind import chosen, is_by_writer
from logpersister.values.messagepack.block import MessagePackKey
from logpersister.values.names import FieldName
from logpersister.values.protobuf.block import ProtobufKey
from logpersister.values.readable import column_findings
from logpersister.values.registry import RegistrySpec
from logpersister.values.row_schema import TEXT, KeySchema, RowSchema
from logpersister.values.thrift.block import ThriftKey

KINDS: Final = ("text", "json", "avro", "protobuf", "thrift", "messagepack")


class TextKey(Model):
    """Each key is one text in UTF-8, as a column of CSV."""

    type: TypeText = "string"
    """Type of the column, without parts."""

    format: Notation | None = None
    """Notation of a timestamp, as in fields. Default: `rfc3339`."""

    @property
    def parser(self) -> None:
        return None

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=(self._field,))

    @property
    def _field(self) -> FieldSpec:
        return FieldSpec.model_construct(name=TEXT, type=self.type, format=self.format)

    @refuses
    def _it_is_a_field(self) -> Iterator[Finding]:
        for one in rules_of(FieldSpec):
            yield from one.findings(self._field)


class KeySpec(Model):
    """How keys become a column beside those of values. A null key is null; one that does not fit refuses its record.

    Exactly one of `text`, `json`, `avro`, `protobuf`, `thrift` and `messagepack` says what keys are.
    """

    column: FieldName = "key"
    """Name of the column, which stands after those of values; its fields are named by paths, such as `key.id`."""

    text: TextKey | None = None
    """Each key is a text."""

    json_: JsonKey | None = Field(default=None, alias="json")
    """Keys are JSON objects."""

    avro: AvroKey | None = None
    """Keys are Avro records."""

    protobuf: ProtobufKey | None = None
    """Keys are messages of protobuf."""

    thrift: ThriftKey | None = None
    """Keys are structs of Thrift."""

    messagepack: MessagePackKey | None = None
    """Keys are MessagePack maps."""

    @property
    def compiled(self) -> KeySchema:
        """How keys become a column."""
        _, block = self._chosen
        return KeySchema(self.column, block.row_schema, block.parser)

    def beside(self, registry: RegistrySpec | None) -> "KeySpec":
        """Return what keys are beside values of a registry, which is theirs, too, unless the block says otherwise."""
        if registry is not None:
            registry = registry.model_copy(update={"subject": None})  # which is that of values
        if self.avro is not None:
            return self.model_copy(update={"avro": self.avro.beside(registry)})
        if self.protobuf is not None:
            return self.model_copy(update={"protobuf": self.protobuf.beside(registry)})
        return self

    @property
    def registry(self) -> RegistrySpec | None:
        """The registry that knows the schemas of keys."""
        found: RowSchema = self._chosen[1].row_schema
        return found.registry

    @property
    def _chosen(self) -> tuple[str, Any]:
        return chosen(self, KINDS) or ("text", TextKey())

    _one_kind_is_named = exactly_one(*KINDS)

    @refuses
    def _columns_can_be(self) -> Iterator[Finding]:
        kind, block = self._chosen
        schema: RowSchema = block.row_schema
        if schema.asks_registry:
            yield Finding("is missing, and keys name no columns", "name the fields of keys", (kind, "fields"))
        for one in column_findings(kind, schema, by_writer=is_by_writer(block)):
            yield replace(one, at=("text", "type")) if kind == TEXT else one
