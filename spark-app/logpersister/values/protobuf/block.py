"""Values that are messages of protobuf: ``protobuf`` of ``spec.value`` and ``spec.key``."""

from collections.abc import Iterator
from typing import Self

from pydantic import Field

from logpersister.forms.constraint import Model
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.faults import WrittenFaultsSpec
from logpersister.values.kind import Fields
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.declaration import MessageName, ProtobufText
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.registry import IdRegistrySpec, RegistrySpec
from logpersister.values.row_schema import RowSchema


class ProtobufKey(Model):
    """Keys are messages of protobuf."""

    registry: IdRegistrySpec | None = None
    """Schema registry whose ids stand before them. Default: that of values. Where there is none, or `writer` is set,
    they have no header.
    """

    fields: Fields | None = None
    """Fields that become columns. Default: those of `message`."""

    read_schema: ProtobufText | None = Field(default=None, alias="schema")
    """Schema that declares the columns: a `.proto` text, or a descriptor set in base64. It has also written what has no
    header.
    """

    writer: ProtobufText | None = None
    """Instead of `schema`, where a registry of values is not theirs: the schema of what has no header."""

    message: MessageName | None = None
    """Message of `schema` or `writer`. Default: the first one of the file."""

    def beside(self, registry: RegistrySpec | None) -> Self:
        """Return the block beside a registry that it takes for its own unless it says otherwise."""
        if registry is None or self.registry is not None or self.writer is not None:
            return self
        return self.model_copy(update={"registry": IdRegistrySpec.of(registry)})

    @property
    def parser(self) -> Parsing:
        return Parsing(type="protobuf", framing="plain" if self.registry is None else self.registry.header)

    @property
    def row_schema(self) -> RowSchema:
        text = self.read_schema or self.writer
        return RowSchema(self.fields, ProtobufSource(text, self.message), registry=self.registry)

    @refuses
    def _a_writer_is_of_values_without_a_header(self) -> Iterator[Finding]:
        if self.writer is not None and (self.registry is not None or self.read_schema is not None):
            yield Finding("is for values without a header and without schema", "remove it", ("writer",))


class ProtobufValue(ProtobufKey):
    """Each value is one message of protobuf."""

    registry: IdRegistrySpec | None = None
    """Schema registry whose ids stand before values. Without `fields` and `schema` a version of the topic's subject
    declares the columns. Default: values have no header.
    """

    faults: WrittenFaultsSpec = WrittenFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return super().parser.model_copy(update={"faults": self.faults.chosen})
