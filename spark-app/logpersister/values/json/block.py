"""Values that are JSON documents: ``json`` of ``spec.value`` and ``spec.key``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from logpersister.forms.constraint import Model, Text
from logpersister.forms.problems import Finding
from logpersister.forms.rule import refuses
from logpersister.schemas.written_column import WrittenColumn
from logpersister.values.declared_columns import Source
from logpersister.values.faults import FaultsSpec
from logpersister.values.json.columns import columns_of
from logpersister.values.kind import DocumentFields, Fields, both_declare, parsing
from logpersister.values.names import FieldName
from logpersister.values.parser import Parsing, UnknownFields
from logpersister.values.registry import RegistrySpec
from logpersister.values.row_schema import AS_THEY_ARE, RowSchema


@dataclass(frozen=True)
class JsonSource(Source):
    """A JSON Schema whose properties are the columns."""

    at: ClassVar[str] = "jsonSchema"

    text: str

    def columns(self) -> Sequence[WrittenColumn]:
        return columns_of(self.text, as_reader=True)


LONGEST_JSON_SCHEMA = 200_000
"""Characters of a JSON Schema, with all that it refers to."""

DocumentFraming = Literal["plain", "confluent", "apicurio", "glue"]

JsonSchemaText = Annotated[
    str,
    Text(
        r"^\s*\{[\s\S]*$",
        "is not a JSON Schema of objects",
        "write the schema as producers have it, or name the columns in fields",
        LONGEST_JSON_SCHEMA,
    ),
]


class JsonKey(Model):
    """Keys are JSON objects."""

    fields: Fields
    """Fields of keys that become fields of the column."""

    framing: DocumentFraming = "plain"
    """Header before the document, as in `spec.value.json`."""

    @property
    def parser(self) -> Parsing:
        return parsing("json", self)

    @property
    def row_schema(self) -> RowSchema:
        return RowSchema(fields=self.fields)


class JsonValue(Model):
    """Each value is one JSON document; with columns one object."""

    fields: DocumentFields | None = None
    """Fields of the objects that become columns. Without `fields`, `jsonSchema` and `registry` the document is checked
    and stored as it is.
    """

    json_schema: JsonSchemaText | None = None
    """Instead of `fields`: a JSON Schema whose properties are the columns."""

    registry: RegistrySpec | None = None
    """Schema registry. Without `fields` and `jsonSchema` a version of the topic's subject declares the columns."""

    framing: DocumentFraming = "plain"
    """Header before the document."""

    unknown_fields: UnknownFields = "drop"
    """Fields that no column is of, at every depth. `drop` leaves them out; `keep` stores them as one JSON object in
    `restColumn`; `refuse` stores the record in quarantine.
    """

    rest_column: FieldName | None = None
    """Name of the column that `unknownFields: keep` adds. Default: `_rest`."""

    faults: FaultsSpec = FaultsSpec()
    """What becomes of values that do not fit (docs/schemas.md#values-that-do-not-fit)."""

    @property
    def parser(self) -> Parsing:
        return parsing("json", self)

    @property
    def row_schema(self) -> RowSchema:
        if self.fields is None and self.json_schema is None and self.registry is None:
            return AS_THEY_ARE
        source = None if self.json_schema is None else JsonSource(self.json_schema)
        return RowSchema(self.fields, source, registry=self.registry)

    @refuses
    def _columns_are_declared_once(self) -> Iterator[Finding]:
        if self.fields is not None and self.json_schema is not None:
            yield both_declare("jsonSchema")

    @refuses
    def _a_header_is_understood(self) -> Iterator[Finding]:
        if self.framing != "plain" and not self.row_schema.has_columns:
            remedy = "name the columns in fields, or the registry that has them in registry"
            yield Finding("is missing, and values would be stored with their header", remedy, ("fields",))

        of_glue = self.registry is not None and self.registry.glue is not None
        has_ids = self.registry is not None and self.fields is None and self.framing != "plain"
        if has_ids and (self.framing == "glue") != of_glue:
            remedy = "write framing glue and glue://REGION/REGISTRY together, or neither of them"
            yield Finding("is not a registry whose ids stand in values with this framing", remedy, ("registry",))
