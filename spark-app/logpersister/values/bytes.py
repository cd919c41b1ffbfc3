"""Values that are any bytes: ``value.bytes``."""

from logpersister.forms.constraint import Model
from logpersister.values.parser import Parsing
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema


class BytesValue(Model):
    """Values are stored as they are, unchecked."""

    @property
    def parser(self) -> Parsing:
        return Parsing()

    @property
    def row_schema(self) -> RowSchema:
        return AS_THEY_ARE
