"""Values that are Avro records: ``avro`` of ``spec.value`` and ``spec.key``."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from logpersister.forms.constraint import Model, Text
from logpersister.forms.problems import Finding, PathStep, RefusedError
from logpersister.forms.rule import refuses
from logpersister.values.avro.columns import columns_of
from logpersister.values.avro.source import AvroSource
from logpersister.values.declared_columns import findings_at, refusing
from logpersister.values.kind import Fields, RegisteredKey, RegisteredValue, both_declare, parsing
from logpersister.values.parser import Framing, Parsing
from logpersister.values.row_schema import RowSchema

LONGEST_AVRO = 100_000
"""Characters of an Avro schema."""
MOST_WRITERS = 32

AvroText = Annotated[
    str,
    Text(
        r"^\s*\{[\s\S]*$",
        "is not the JSON of an Avro schema of type record",
        "write the schema as producers have it, or name the columns in fields",
        LONGEST_AVRO,
    ),
]


class SingleObjectSpec(Model):
    """Values begin with C3 01 and the fingerprint of the schema by which they were written."""

    schemas: Annotated[tuple[AvroText, ...], Field(max_length=MOST_WRITERS)] = ()
    """Schemas by which values were written."""


class AvroKey(RegisteredKey):
    """Keys are Avro records."""

    single_object: SingleObjectSpec | None = None
    """A fingerprint before them, of a schema in the manifest or of the registry's subject. Default: they do not."""

    fields: Fields | None = None
    """Fields that become columns. Default: those of `schema`."""

    read_schema: AvroText | None = Field(default=None, alias="schema")
    """Instead of `fields`: an Avro schema, as JSON, whose fields are the columns. It has also written what has no
    header.
    """

    writer: AvroText | None = None
    """Schema by which they were written where they have no header, if it is another one than `schema`."""

    @property
    def of_writers(self) -> SingleObjectSpec | None:
        """All schemas of the block that fingerprints name; None: values have none."""
        if self.single_object is None:
            return None
        return SingleObjectSpec.model_construct(schemas=self.row_schema.written_by("singleObject"))

    @property
    def framing(self) -> Framing:
        """What stands before values."""
        if self.single_object is not None:
            return "singleObject"
        return "plain" if self.registry is None else self.registry.header

    @property
    def parser(self) -> Parsing:
        return parsing("avro", self, framing=self.framing)

    @property
    def row_schema(self) -> RowSchema:
        writers: tuple[str, ...] = () if self.writer is None else (self.writer,)
        writers = writers if self.single_object is None else self.single_object.schemas
        declared = self.read_schema
        if declared is None and self.fields is None and self.registry is None and writers:
            declared = writers[0]
        return RowSchema(self.fields, AvroSource(declared, writers), registry=self.registry)

    @refuses
    def _schemas_are_of_records(self) -> Iterator[Finding]:
        texts: dict[tuple[PathStep, ...], str | None] = {("schema",): self.read_schema, ("writer",): self.writer}
        for place, one in enumerate(() if self.single_object is None else self.single_object.schemas):
            texts["singleObject", "schemas", place] = one
        for at, text in texts.items():
            if text is None:
                continue
            try:
                with refusing():
                    columns_of(text)
            except RefusedError as error:
                yield from findings_at(error, *at)

    @refuses
    def _each_schema_has_a_use(self) -> Iterator[Finding]:
        if self.fields is not None and self.read_schema is not None:
            yield both_declare("schema")
        if self.writer is not None and (self.registry is not None or self.single_object is not None):
            remedy = "remove it; where values name their schema, they are read by that"
            yield Finding("is for values without a header", remedy, ("writer",))


class AvroValue(RegisteredValue, AvroKey):
    """Each value is one Avro record."""
