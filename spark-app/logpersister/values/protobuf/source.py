"""Schemas of protobuf in the manifest: what declares columns, and what has written values without a header."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from logpersister.forms.problems import Finding, RefusedError
from logpersister.schemas.errors import SchemaTextError
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.declared_columns import NO_COLUMNS, Source, one_of
from logpersister.values.parser import Framing
from logpersister.values.protobuf.columns import columns_of
from logpersister.values.protobuf.schema import read_schema
from logpersister.values.row_schema import RowSchema


@dataclass(frozen=True)
class ProtobufSource(Source):
    """A message of a schema of protobuf."""

    at: ClassVar[str] = "schema"

    text: str | None = None
    """A `.proto` text or a descriptor set in base64."""
    message: str | None = None
    """The message that declares the columns, and that values without a header are. Default: the first one."""

    @property
    def has_text(self) -> bool:
        return self.text is not None

    def columns(self) -> Sequence[WrittenColumn]:
        self.check()
        return columns_of(self.text or "", self.message, as_reader=True)

    def written_by(self, framing: Framing) -> tuple[str, ...]:
        return (self.text,) if framing == "plain" and self.text is not None else ()

    def check(self) -> None:
        schema = read_schema(self.text or "")
        try:
            schema.message(self.message)
        except SchemaTextError:
            if self.message is None or not schema.roots:
                raise
            names = [name for one in schema.roots for name in one.names()]
            told, found = f"{NO_COLUMNS}: the schema has no such message", f'"{self.message}"'
            raise RefusedError(Finding(told, one_of(names, self.message), ("message",), found)) from None


def protobuf_of(schema: RowSchema) -> ProtobufSource:
    """Return the schema of protobuf that declares columns; one without a text where there is none."""
    return schema.source if isinstance(schema.source, ProtobufSource) else ProtobufSource()
