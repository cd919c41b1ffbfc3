"""``spec.parser``: what values must be; records whose values are not are stored apart, in quarantine."""

from typing import Annotated, Literal

from logpersister.manifest.constraint import Model
from logpersister.manifest.rule import rule
from logpersister.manifest.shares import Percent

Parser = Literal["bytes", "json", "avro"]
UnknownFields = Literal["drop", "refuse"]
Framing = Literal["confluent", "apicurio"]
QuarantineFormat = Literal["output", "parquet"]


class QuarantineSpec(Model):
    """How records are stored that the parser refuses."""

    format: QuarantineFormat = "output"
    """`output`: as all other records. `parquet`: as Parquet with everything that a record has (value, key, headers,
    topic, partition, offset, timestamp), the reason and the field, whatever `spec.output` is, so that
    `logpersister quarantine replay` can store it again (docs/parsers.md)."""

    hold_above: Annotated[int, Percent("100%")] | None = None
    """A range of whose records more than this share would go to quarantine is not stored: its partition is held until
    somebody raises or removes the limit (docs/operations.md). Applies also to what another revision has promised."""


class ParserSpec(Model):
    """What values must be. A change of it is a new ``generation`` for readers that count on it."""

    type: Parser = "bytes"
    """`bytes`: any value, unchecked. `json`: each value must be one JSON document (RFC 8259, UTF-8, nested at most 128
    deep), or with `spec.schema` one JSON object with these fields (docs/schemas.md). `avro`: each value must be an Avro
    record behind the id of its schema, which `spec.schema.registry` knows, and becomes the fields of `spec.schema`.
    Records with other values are stored unchanged in the topic's folder `_quarantine` (docs/parsers.md). Null values
    are never parsed."""

    unknown_fields: UnknownFields = "drop"
    """Treatment of fields that `spec.schema` does not name, at every depth. `drop` leaves them out of the columns;
    `refuse` stores the record in quarantine. Only with a schema; `refuse` only with `json`."""

    framing: Framing = "confluent"
    """Header of Avro values. `confluent`: a zero byte and an id of 4 bytes, as Confluent's serializers write it by
    default, and Apicurio's since version 3. `apicurio`: a zero byte and an id of 8 bytes. Only with `avro`."""

    quarantine: QuarantineSpec = QuarantineSpec()
    """Only with a parser that refuses values."""

    @property
    def has_quarantine(self) -> bool:
        """Whether it may refuse records."""
        return self.type != "bytes"

    @property
    def keeps_all_in_quarantine(self) -> bool:
        """Whether what it refuses is stored as Parquet with all of a record, whatever the output is."""
        return self.has_quarantine and self.quarantine.format == "parquet"

    @rule(
        "!has(self.quarantine) || $type != 'bytes'",
        "has no meaning without a parser that refuses values",
        "remove it, or set spec.parser.type, for example to json",
        "quarantine",
    )
    def _a_quarantine_is_of_a_parser(self) -> bool:
        return self.has_quarantine or "quarantine" not in self.model_fields_set

    @rule(
        "$framing == 'confluent' || $type == 'avro'",
        "has no meaning without parser avro",
        "remove it, or set spec.parser.type to avro",
        "framing",
    )
    def _a_framing_is_of_avro(self) -> bool:
        return self.framing == "confluent" or self.type == "avro"

    @rule(
        "$unknownFields == 'drop' || $type != 'avro'",
        "asks for what the schema of an Avro value already says: which fields it has",
        "remove it",
        "unknownFields",
    )
    def _avro_knows_its_fields(self) -> bool:
        return self.unknown_fields == "drop" or self.type != "avro"
