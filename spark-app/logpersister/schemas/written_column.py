"""A field of the values by their writer's schema (Avro, protobuf, Thrift), and the column that it can be. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from logpersister.schemas.types import (
    KAFKA_PREFIX,
    LETTERS,
    MOST_COLUMNS,
    MOST_NESTED,
    NAME,
    Member,
    Struct,
    Type,
)

Found = TypeVar("Found")

TOO_MANY: Final = f"it has more than {MOST_COLUMNS} columns at all depths together"
REFUSED: Final = "refuses the record (overflow), unless faults of spec.value sets it to null"
_LONGEST_NAME: Final = 64
_MOST_TYPES: Final = 10 * MOST_COLUMNS
"""Most types of one column, with unions, lists and the like that are no column of their own."""


@dataclass(frozen=True, slots=True)
class Remark:
    """What a column cannot hold of its field, or a field that is left out."""

    path: str
    text: str
    is_left_out: bool = False


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A field of the record, message or struct that values are."""

    name: str
    type: Type | None
    remark: str
    """What the writer's schema says of it; or, where it has no type, why it cannot be a column."""
    required: bool = False
    default: str | None = None
    aliases: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    """Remarks on the field and on the fields in it."""


class NoColumnError(Exception):
    """A type that cannot be a column, and why."""


class TooManyError(NoColumnError):
    """A column of more types than one may have, which no part of it mends."""


class TypeWalk:
    """The way through the types of a column: where it is, what the column cannot hold, and how many types there are.

    A few records that name each other can stand for any number of types.
    """

    def __init__(self) -> None:
        self._made = 0
        self._path: list[str] = []
        self._remarks: list[Remark] = []

    def begin(self, name: str) -> None:
        self._made, self._path, self._remarks = 0, [name], []

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What was noted of this column."""
        return tuple(dict.fromkeys(self._remarks))

    def column(self, name: str, told: str, make: Callable[[], Member]) -> WrittenColumn:
        """Return a column; `told`: what the schema says of the field, of which `make` makes a member."""
        self.begin(name)
        try:
            one = make()
        except NoColumnError as error:
            return WrittenColumn(name, None, str(error))
        return WrittenColumn(name, one.type, told, one.required, one.default, one.aliases, self.remarks)

    def add(self, depth: int) -> None:
        """Count one more type, which stands so deep. Raises `NoColumnError`."""
        if depth > MOST_NESTED:
            raise NoColumnError(f"it is nested more than {MOST_NESTED} deep")
        self._made += 1
        if self._made > _MOST_TYPES:
            raise TooManyError(TOO_MANY)

    def note(self, text: str, *, is_left_out: bool = False) -> None:
        """Note something about the field that is looked at."""
        self._remarks.append(Remark("".join(self._path), text, is_left_out))

    def inside(self, step: str, read: Callable[[], Found]) -> Found:
        """Return what `read` returns of the items of a list (``[]``) or the values of a map (``{}``)."""
        self._path.append(step)
        try:
            return read()
        finally:
            self._path.pop()

    def struct(self, fields: Iterable[tuple[str, Callable[[], Member]]]) -> Struct:
        """Return a struct of the fields that can be columns. Raises `NoColumnError` where none can.

        Args:
            fields: the name of each, and what makes a member of it, which may raise the same.
        """
        members: list[Member] = []
        told = "it has no fields"
        for name, make in fields:
            self._path.append(f".{name}")
            try:
                members.append(make())
            except TooManyError:
                raise
            except NoColumnError as error:
                self.note(str(error), is_left_out=True)
                told = "it has no fields that can be columns"
            self._path.pop()
        if not members:
            raise NoColumnError(told)
        return Struct(tuple(members))


def unusable_name(name: str) -> str | None:
    """Return why a column cannot have a name; None: it can."""
    if re.fullmatch(NAME, name) is None or len(name) > _LONGEST_NAME:
        return "a column cannot have this name"
    if name.lower().startswith(KAFKA_PREFIX):
        return f"{KAFKA_PREFIX} is for Kafka's own fields"
    return None


def column_name(name: str) -> str:
    """Return a name for the column of a field, as near to the field's as engines take it."""
    found = re.sub(rf"[^A-Za-z0-9_@$\-{LETTERS}]+", "_", name)[:_LONGEST_NAME]
    found = found if unusable_name(found) is None else f"_{found}"[:_LONGEST_NAME]
    return found if unusable_name(found) is None else "_"
