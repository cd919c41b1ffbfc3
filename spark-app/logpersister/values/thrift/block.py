"""Values that are structs of Thrift: ``thrift`` of ``spec.value`` and ``spec.key``."""

from logpersister.values.faults import WrittenFaultsSpec
from logpersister.values.kind import Fields
from logpersister.values.parser import Parsing, Protocol
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.declaration import ThriftSchema


class ThriftKey(ThriftSchema):
    """Keys are structs of Thrift."""

    protocol: Protocol = "binary"
    """`binary` (`TBinaryProtocol`) or `compact` (`TCompactProtocol`)."""

    fields: Fields | None = None
    """Fields of keys that become fields of the column. Default: those of the struct."""

    @property
    def parser(self) -> Parsing:
        return Parsing(type="thrift", protocol=self.protocol)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(self.fields, thrift=ThriftSchema(idl=self.idl, struct=self.struct))


class ThriftValue(ThriftKey):
    """Each value is one struct of Thrift."""

    fields: Fields | None = None
    """Fields of the struct that become columns. Default: all."""

    faults: WrittenFaultsSpec = WrittenFaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return super().parser.model_copy(update={"faults": self.faults.chosen})
