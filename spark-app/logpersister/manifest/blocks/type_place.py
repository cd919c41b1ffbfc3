"""Place of a record's type: the section of ``spec.types`` of which exactly one field is set."""

from typing import Annotated, Literal

from logpersister.forms.constraint import Flag, Model, Text
from logpersister.forms.rule import exactly_one
from logpersister.manifest.blocks.frame import FrameSpec
from logpersister.values.names import FieldName, FieldPath
from logpersister.values.protobuf.parts import WHOLE, Plan, any_in, oneof_in
from logpersister.values.protobuf.schema import Schema

SchemaName = Literal["record"]

HeaderName = Annotated[
    str,
    Text(
        r"^[^\x00-\x1f\x7f]+$",
        "is empty or has a control character",
        "write the name of the header that producers set, for example event-type",
    ),
]


class AnySpec(Model):
    """Messages of protobuf with another message in them, in a field of type ``google.protobuf.Any``."""

    field: FieldPath | None = None
    """The field, for example `payload`, or `meta.payload` in a message in it. Default: the value is an `Any` itself."""

    column: FieldName | None = None
    """Column of each type with a schema, for example `envelope`: the fields of the whole value that `spec.value`
    declares. Default: none."""


class OneofSpec(Model):
    """Messages of protobuf of which one of several fields is set."""

    name: FieldPath
    """Name of the `oneof`, for example `payload`, or `meta.payload` in a message in it."""

    parse: Literal["value", "field"] = "value"
    """What parsers get: the whole value, or what is in the field that is set, a message, string or bytes."""

    column: FieldName | None = None
    """Column of the whole message, as in `any`. Only if parsers get the field."""


class TypePlace(Model):
    """Where the type of a record is."""

    header: HeaderName | None = None
    """Header whose value is the type. Exactly one of `header`, `key`, `field`, `frame`,
    `schemaName`, `any` and `oneof`.
    """

    key: Flag = False
    """Whether the key of a record is its type, as text."""

    field: FieldPath | None = None
    """Field of JSON objects whose text or whole number is the type, for example `meta.type`."""

    frame: FrameSpec | None = None
    """Place of the type in binary values that are frames: numbers at fixed places, a header, a body. Parsers get the
    body.
    """

    schema_name: SchemaName | None = None
    """Name of the schema that a value names in its header. `record`: the full name of its Avro record or protobuf
    message (Confluent's `RecordNameStrategy`).
    """

    any: AnySpec | None = None
    """A `google.protobuf.Any` in values of parser `protobuf`: its type URL behind the last slash is the type. Parsers
    get its value.
    """

    oneof: OneofSpec | None = None
    """A `oneof` of the messages of parser `protobuf`: the type is the name of the field that is set."""

    @property
    def is_in_messages(self) -> bool:
        """Whether types are in messages of protobuf."""
        return self.any is not None or self.oneof is not None

    @property
    def hands_parts(self) -> bool:
        """Whether parsers get parts of messages."""
        return self.any is not None or (self.oneof is not None and self.oneof.parse == "field")

    @property
    def column_of_values(self) -> str | None:
        """The column that each type has of the whole message; None: it has none."""
        of_oneof = self.oneof.column if self.oneof is not None and self.hands_parts else None
        return of_oneof if self.any is None else self.any.column

    def plan(self, schema: Schema, message: str) -> Plan:
        """Return where in a message its type is. Raises SchemaTextError."""
        if self.oneof is not None:
            return oneof_in(schema, message, self.oneof.name, parts=self.hands_parts)
        return WHOLE if self.any is None or self.any.field is None else any_in(schema, message, self.any.field)

    _types_are_found_in_one_way = exactly_one("header", "key", "field", "frame", "schemaName", "any", "oneof")
