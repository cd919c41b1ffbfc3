"""``spec.schema.key``: the column that keys become."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, cast

from pydantic import Field

from logpersister.manifest.column import Column
from logpersister.manifest.constraint import Model
from logpersister.manifest.declared_columns import (
    NO_AVRO,
    check_avro,
    check_message,
    check_struct,
    columns_by,
    columns_by_message,
    columns_by_struct,
    findings_at,
    unfit_columns,
    unfit_remedy,
)
from logpersister.manifest.field import AvroText, TypeText
from logpersister.manifest.names import FieldName
from logpersister.manifest.notation import Notation
from logpersister.manifest.parser import (
    FRAMED,
    REGISTERED,
    Framing,
    Parser,
    ParserSpec,
    Protocol,
    ThriftSpec,
    usual_framing,
)
from logpersister.manifest.problems import Finding, RefusedError, show
from logpersister.manifest.protobuf_text import MessageName, ProtobufText
from logpersister.manifest.registry import Subject
from logpersister.manifest.rule import NotInCel, rule
from logpersister.manifest.thrift_schema import ThriftSchema
from logpersister.manifest.types import ListOf, MapOf, Plain, Struct, Timestamp, Type, leaves, parse_type

KeyParser = Literal["text", "json", "avro", "protobuf", "thrift", "messagepack"]

TEXT: Final = "text"
"""What a key that is text is called before it is a column."""
NO_KEY: Final = "cannot be what keys become"
"""How every refusal of a type begins."""
_OTHER_FIELDS: Final = "correct it, or name the fields in spec.schema.key.type"
_NO_TYPE: Final = "string"
"""The type where none is named."""
_PLAIN: Final = "(has(self.framing) && self.framing == 'plain')"
_WITHOUT_IDS: Final = "(has(self.framing) && self.framing in ['plain', 'singleObject'])"


def _framing_of(before: Mapping[str, Any]) -> Framing:
    return usual_framing(before["parser"])


class KeyThrift(ThriftSchema):
    """A schema of Thrift by which keys are read, and how they are written."""

    protocol: Protocol = "binary"
    """Protocol of keys, as `spec.parser.thrift.protocol`."""


class KeySpec(Model):
    """How keys become a column beside those of values. A null key is null; one that does not fit refuses its record."""

    parser: KeyParser = "text"
    """`text`: each key is a text in UTF-8, as a column of CSV. The others: as `spec.parser` for values."""

    type: TypeText = _NO_TYPE
    """Type of the column: with `text` one without parts, else a struct, such as `struct<id: int64 not null, region:
    string>`. May be absent beside `avro`, `protobuf` or `thrift`.
    """

    format: Notation | None = None
    """Notation of the timestamps in keys, as in `fields`. Default: `rfc3339`. Only with timestamps."""

    framing: Framing = Field(default_factory=_framing_of)
    """Header of Avro, protobuf and JSON keys, as `spec.parser.framing`."""

    avro: AvroText | None = None
    """Avro schema by which keys were written, with framing `plain` or `singleObject`."""

    protobuf: ProtobufText | None = None
    """Schema of protobuf by which keys were written, with framing `plain`."""

    message: MessageName | None = None
    """Message of `protobuf`. Default: the first one of the file."""

    thrift: KeyThrift | None = None
    """Schema of Thrift by which keys are read. Needed with `thrift`, and only with it."""

    subject: Subject | None = None
    """Subject of `spec.schema.registry` with the schemas of keys, with framing `singleObject`. Default: `{topic}-key`,
    with AWS Glue `{topic}`.
    """

    column: FieldName = "key"
    """Name of the column, which stands after those of values; its fields are named by paths, such as `key.id`."""

    @property
    def names_schemas(self) -> bool:
        """Whether keys say by which schema they were written, and are read by that."""
        return self.parser in REGISTERED and self.framing != "plain"

    @property
    def as_values(self) -> ParserSpec:
        """How keys other than texts are read: as values by this."""
        thrift = None if self.thrift is None else ThriftSpec(protocol=self.thrift.protocol)
        return ParserSpec(type=cast("Parser", self.parser), framing=self.framing, thrift=thrift)

    @property
    def has_type(self) -> bool:
        """Whether `type` declares the column, and not the schema of the keys."""
        has_schema = self.avro is not None or self.protobuf is not None or self.thrift is not None
        return not has_schema or self.type != _NO_TYPE

    @property
    def parsed(self) -> Type:
        """The type of the column."""
        return parse_type(self.type) if self.has_type else Struct(self._written)

    @property
    def declared(self) -> Column:
        return Column(self.column, self.parsed, required=False, format=self.format)

    @property
    def inner(self) -> tuple[Column, ...]:
        """What a parser finds in keys where `type` declares it: the fields of the struct, or only `TEXT`."""
        if isinstance(self.parsed, Struct):
            return tuple(Column(one.name, one.type, one.required, format=self.format) for one in self.parsed.members)
        return (Column(TEXT, self.parsed, required=False, format=self.format),)

    @property
    def _written(self) -> tuple[Column, ...]:
        """The fields of the schema of keys. Raises `RefusedError`."""
        if self.avro is not None:
            return columns_by(self.avro).columns
        if self.protobuf is not None:
            return columns_by_message(self.protobuf, self.message).columns
        return () if self.thrift is None else columns_by_struct(self.thrift.idl, self.thrift.struct).columns

    @rule(
        "!has(self.format) || $type.contains('timestamp[')",
        "is set, and the type has no timestamp",
        "remove it, or write for example type timestamp[ms]",
        "format",
    )
    def _a_format_is_for_timestamps(self) -> bool:
        return self.format is None or ("timestamp[" in self.type and _has_timestamp(self.parsed))

    @rule(
        "!has(self.framing) || self.framing == 'plain' || $parser in ['avro', 'protobuf', 'json']",
        "is no framing of keys of this parser, which have no header",
        "remove it, or set spec.schema.key.parser to avro, protobuf or json",
        "framing",
    )
    def _a_header_is_before_some_kinds_of_keys(self) -> bool:
        return self.framing == "plain" or self.parser in FRAMED

    @rule(
        "!has(self.framing) || self.framing != 'singleObject' || $parser == 'avro'",
        "is a framing of Avro keys",
        "write confluent, apicurio, glue or plain",
        "framing",
    )
    def _single_objects_are_of_avro(self) -> bool:
        return self.framing != "singleObject" or self.parser == "avro"

    @rule(
        f"(!has(self.avro) || $parser == 'avro' && {_WITHOUT_IDS})"
        f" && (!has(self.protobuf) && !has(self.message) || $parser == 'protobuf' && {_PLAIN})"
        " && (!has(self.thrift) || $parser == 'thrift')",
        "has a schema of other keys",
        "remove it; a registry knows the schemas of keys that name theirs",
    )
    def _a_schema_is_of_the_keys(self) -> Sequence[Finding]:
        of_avro = self.parser == "avro" and self.framing in ("plain", "singleObject")
        of_protobuf = self.parser == "protobuf" and self.framing == "plain"
        found = (
            ("avro", self.avro, of_avro, "avro and framing plain or singleObject"),
            ("protobuf", self.protobuf, of_protobuf, "protobuf and framing plain"),
            ("message", self.message, of_protobuf, "protobuf and framing plain"),
            ("thrift", self.thrift, self.parser == "thrift", "thrift"),
        )
        remedy = "remove it; a registry knows the schemas of keys that name theirs"
        return [
            Finding(f"is for parser {parser}", remedy, (name,))
            for name, value, fits, parser in found
            if value is not None and not fits
        ]

    @rule(
        "$parser != 'thrift' || has(self.thrift)",
        "is missing, and keys of Thrift do not say by which schema they were written",
        "write the .thrift file into spec.schema.key.thrift.idl",
        "thrift",
    )
    def _thrift_has_a_schema(self) -> bool:
        return self.parser != "thrift" or self.thrift is not None

    @rule(
        f"$parser != 'avro' || !{_PLAIN} || has(self.avro)",
        "is missing, and keys without a header do not say by which schema they were written",
        "write the Avro schema of the keys there",
        "avro",
    )
    def _plain_avro_has_a_schema(self) -> bool:
        return self.parser != "avro" or self.framing != "plain" or self.avro is not None

    @rule(
        f"$parser != 'protobuf' || !{_PLAIN} || has(self.protobuf)",
        "is missing, and keys without a header do not say by which schema they were written",
        "write the .proto text there, or a descriptor set in base64",
        "protobuf",
    )
    def _plain_protobuf_has_a_schema(self) -> bool:
        return self.parser != "protobuf" or self.framing != "plain" or self.protobuf is not None

    @rule(NotInCel("it would have to understand Avro, protobuf and Thrift"), NO_AVRO, _OTHER_FIELDS, "type")
    def _the_schema_is_one(self) -> Sequence[Finding]:
        try:
            columns = self.inner if self.has_type else self._written
            if self.avro is not None:
                check_avro(self.avro)
            if self.protobuf is not None:
                check_message(self.protobuf, self.message)
            if self.thrift is not None:
                check_struct(self.thrift.idl, self.thrift.struct)
        except RefusedError as error:
            at = next((name for name in ("avro", "protobuf", "thrift") if getattr(self, name) is not None), "type")
            return findings_at(error, at, other_columns=_OTHER_FIELDS)
        if self.thrift is None:
            return []
        return [
            Finding(f"{NO_AVRO}: {error}", unfit_remedy(error), ("type",), show(self.type))
            for _, error in unfit_columns(self.thrift.idl, self.thrift.struct, columns)
        ]

    @rule(
        NotInCel("it would have to understand the type"),
        NO_KEY,
        "write another type (docs/schemas.md#keys)",
        "type",
    )
    def _the_parser_has_the_type(self) -> Sequence[Finding]:
        if not self.has_type:
            return []
        type_, at, value = self.parsed, ("type",), f'"{self.type}"'
        if self.parser == "text" and isinstance(type_, Struct | ListOf | MapOf):
            told = f"{NO_KEY} by parser text: a text has no parts"
            return [Finding(told, "write for example string, or set spec.schema.key.parser to json", at, value)]
        if self.parser != "text" and not isinstance(type_, Struct):
            told = f"{NO_KEY} by parser {self.parser}: it is no struct"
            return [Finding(told, "name the fields, for example struct<id: int64>", at, value)]
        if self.parser in ("avro", "messagepack") and any(leaf == Plain("json") for leaf in leaves(type_)):
            told = f"{NO_KEY} by parser {self.parser}: such keys have no json"
            return [Finding(told, "write the type that the field has in keys", at, value)]
        return []


def _has_timestamp(type_: Type) -> bool:
    return any(isinstance(leaf, Timestamp) for leaf in leaves(type_))
