"""Values that are MessagePack maps: ``messagepack`` of ``spec.value`` and ``spec.key``."""

from logpersister.forms.constraint import Model
from logpersister.values.faults import FaultsSpec
from logpersister.values.kind import DocumentFields, Fields, parsing
from logpersister.values.names import FieldName
from logpersister.values.parser import Parsing, UnknownFields
from logpersister.values.row_schema import RowSchema


class MessagePackKey(Model):
    """Keys are MessagePack maps."""

    fields: Fields
    """Fields of keys that become fields of the column."""

    @property
    def parser(self) -> Parsing:
        return parsing("messagepack", self)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=self.fields)


class MessagePackValue(Model):
    """Each value is one MessagePack map."""

    fields: DocumentFields
    """Fields of the maps that become columns."""

    unknown_fields: UnknownFields = "drop"
    """Fields that no column is of, at every depth, as in `json`."""

    rest_column: FieldName | None = None
    """Name of the column that `unknownFields: keep` adds. Default: `_rest`."""

    faults: FaultsSpec = FaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return parsing("messagepack", self)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=self.fields)
