"""Values that are structs of Thrift: ``thrift`` of ``spec.value`` and ``spec.key``."""

from typing import Annotated

from logpersister.forms.constraint import Model, Text
from logpersister.values.kind import Fields, WrittenValue, parsing
from logpersister.values.parser import Parsing, Protocol
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.source import ThriftSource

LONGEST_IDL = 200_000
"""Characters of a text of Thrift's IDL."""

IdlText = Annotated[
    str,
    Text(
        r"^[\s\S]*\{[\s\S]*$",
        "is no text of Thrift's IDL with a struct",
        "write the .thrift file as producers have it",
        LONGEST_IDL,
    ),
]

StructName = Annotated[
    str, Text(r"^[A-Za-z_][A-Za-z0-9_]*$", "is not the name of a struct", "write it as the IDL has it", 500)
]


class ThriftKey(Model):
    """Keys are structs of Thrift."""

    idl: IdlText
    """Text of Thrift's IDL, without `include`."""

    struct: StructName | None = None
    """Struct (or union) that values are. Default: the only one of the text."""

    protocol: Protocol = "binary"
    """`binary` (`TBinaryProtocol`) or `compact` (`TCompactProtocol`)."""

    fields: Fields | None = None
    """Fields of keys that become fields of the column. Default: those of the struct."""

    @property
    def parser(self) -> Parsing:
        return parsing("thrift", self)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(self.fields, ThriftSource(self.idl, self.struct))


class ThriftValue(WrittenValue, ThriftKey):
    """Each value is one struct of Thrift."""

    fields: Fields | None = None
    """Fields of the struct that become columns. Default: all."""
