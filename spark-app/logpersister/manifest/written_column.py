"""What a schema of Avro, protobuf or Thrift says of a field of the values, and what of it can be a column. Pure."""

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from logpersister.manifest.types import KAFKA_PREFIX, MOST_COLUMNS, MOST_NESTED, NAME, Type

TOO_MANY: Final = f"it has more than {MOST_COLUMNS} columns at all depths together"
_LONGEST_NAME: Final = 64
_MOST_TYPES: Final = 10 * MOST_COLUMNS
"""Of one column, with unions, lists and the like that are none of their own."""


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


class NoColumnError(Exception):
    """A type that cannot be a column, and why."""


class TypeCount:
    """Counts the types of a column: a few records that name each other can stand for any number."""

    def __init__(self) -> None:
        self._made = 0

    def begin_column(self) -> None:
        self._made = 0

    def add(self, depth: int) -> None:
        """Count one more, which stands so deep. Raises `NoColumnError`."""
        if depth > MOST_NESTED:
            raise NoColumnError(f"it is nested more than {MOST_NESTED} deep")
        self._made += 1
        if self._made > _MOST_TYPES:
            raise NoColumnError(TOO_MANY)


def unusable_name(name: str) -> str | None:
    """Return why a column cannot have a name; None: it can."""
    if re.fullmatch(NAME, name, re.ASCII) is None or len(name) > _LONGEST_NAME:
        return "a column cannot have this name"
    if name.lower().startswith(KAFKA_PREFIX):
        return f"{KAFKA_PREFIX} is for Kafka's own fields"
    return None


def require_new(name: str, members: Container[str]) -> None:
    """Raise `NoColumnError` where a struct has a field of this name, whatever its case; `members` are lower case."""
    if name.lower() in members:
        raise NoColumnError(f"its field {name} differs from another one in case only")
