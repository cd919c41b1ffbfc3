"""JSON Schemas in the manifest: what declares columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from logpersister.forms.problems import refuse
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.declared_columns import CORRECT, NO_COLUMNS, OTHER_COLUMNS, Source
from logpersister.values.json.columns import columns_of
from logpersister.values.json.errors import JsonSchemaError, NotJsonError


@dataclass(frozen=True)
class JsonSource(Source):
    """A JSON Schema whose properties are the columns."""

    at: ClassVar[str] = "jsonSchema"

    text: str

    def columns(self) -> Sequence[WrittenColumn]:
        try:
            return columns_of(self.text, as_reader=True)
        except JsonSchemaError as error:
            remedy = CORRECT if isinstance(error, NotJsonError) else OTHER_COLUMNS
            raise refuse(f"{NO_COLUMNS}: {error}", remedy) from None
