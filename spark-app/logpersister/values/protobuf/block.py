"""Values that are messages of protobuf: ``protobuf`` of ``spec.value`` and ``spec.key``."""

from collections.abc import Iterator

from pydantic import Field

from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.values.kind import Fields, RegisteredKey, RegisteredValue, parsing
from logpersister.values.parser import Parsing
from logpersister.values.protobuf.declaration import MessageName, ProtobufText
from logpersister.values.protobuf.source import ProtobufSource
from logpersister.values.row_schema import RowSchema


class ProtobufKey(RegisteredKey):
    """Keys are messages of protobuf."""

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

    @property
    def parser(self) -> Parsing:
        return parsing("protobuf", self, framing="plain" if self.registry is None else self.registry.header)

    @property
    def row_schema(self) -> RowSchema:
        text = self.read_schema or self.writer
        return RowSchema(self.fields, ProtobufSource(text, self.message), registry=self.registry)

    @refuses
    def _a_writer_is_of_values_without_a_header(self) -> Iterator[Finding]:
        if self.writer is not None and (self.registry is not None or self.read_schema is not None):
            yield Finding("is for values without a header and without schema", "remove it", ("writer",))


class ProtobufValue(RegisteredValue, ProtobufKey):
    """Each value is one message of protobuf."""
