"""What a schema of Avro, protobuf or Thrift says of a field of the values."""

from dataclasses import dataclass

from logpersister.manifest.types import Type


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A field of the record, message or struct that values are."""

    name: str
    type: Type | None
    remark: str
    """What the writer's schema says of it; or, where it has no type, why it cannot be a column."""
    required: bool = False
    default: str | None = None
    """As `Member` has it."""
    aliases: tuple[str, ...] = ()
