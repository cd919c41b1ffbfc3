"""Values that are any bytes: ``value.bytes``."""

from logpersister.forms.constraint import Model
from logpersister.values.parser import Parsing


class BytesValue(Model):
    """Values are stored as they are, unchecked."""

    @property
    def parser(self) -> Parsing:
        return Parsing()

    @property
    def row_schema(self) -> None:
        return None
