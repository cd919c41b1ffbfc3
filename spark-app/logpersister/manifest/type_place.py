"""Where the type of a record is: the part of ``spec.types`` of which exactly one field is set."""

from typing import Annotated, Literal

from logpersister.manifest.constraint import Flag, Model, Text
from logpersister.manifest.frame import FrameSpec
from logpersister.manifest.partition_rule import FieldPath
from logpersister.manifest.rule import rule

SchemaName = Literal["record"]

HeaderName = Annotated[
    str,
    Text(
        r"^[^\x00-\x1f\x7f]+$",
        "is empty or has a control character",
        "write the name of the header that producers set, for example event-type",
    ),
]


class TypePlace(Model):
    """Where the type of a record is."""

    header: HeaderName | None = None
    """Header whose value is the type, as text. If a record has several of this name, the last one counts. Exactly one
    of `header`, `key`, `field`, `frame` and `schemaName` is needed."""

    key: Flag = False
    """Whether the key of a record is its type, as text."""

    field: FieldPath | None = None
    """Field of JSON objects whose text or whole number is the type, for example `meta.type`."""

    frame: FrameSpec | None = None
    """Where the type is in binary values that are frames: numbers at fixed places, then a header, then a body. Parsers
    get the body."""

    schema_name: SchemaName | None = None
    """Name of the schema that a value names in its header, as `spec.schema.registry` knows it. `record`: the full name
    of its Avro record or protobuf message, as in Confluent's `RecordNameStrategy`."""

    @rule(
        "(has(self.header) ? 1 : 0) + ($key ? 1 : 0) + (has(self.field) ? 1 : 0) + (has(self.frame) ? 1 : 0)"
        " + (has(self.schemaName) ? 1 : 0) == 1",
        "is not exactly one of header, key, field, frame and schemaName",
        "name one place where the type of a record is",
    )
    def _types_are_found_in_one_way(self) -> bool:
        ways = (self.header, self.key or None, self.field, self.frame, self.schema_name)
        return len([way for way in ways if way is not None]) == 1
