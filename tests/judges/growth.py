"""What lists and maps of a value may take in columns; no code of the native parser is in it."""

from functools import cache
from typing import Final

from logpersister.schemas.types import Decimal, Plain, Struct, Time, Timestamp, Type
from tests.judges.refusal import RefusalError

_GROWTH, _GROWTH_OF_A_BYTE, _MOST_GROWTH = 4 << 10, 64, 1 << 30
_WIDTHS: Final = {"int8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8, "date": 4}


class Budget:
    """Bytes that a value may still take in columns."""

    def __init__(self, size: int) -> None:
        """Begin with those of a value of `size` bytes."""
        self._left = min(_GROWTH + _GROWTH_OF_A_BYTE * size, _MOST_GROWTH)

    def take(self, size: int, step: str = "") -> None:
        """Take bytes for something at `step`. Raises `RefusalError`."""
        self._left -= size
        if self._left < 0:
            raise RefusalError("overflow", step)

    def take_rest(self, text: str | None) -> None:
        """Take the bytes of an object of what is unknown, its braces aside. Raises `RefusalError`."""
        self.take(0 if text is None else len(text.encode()) - 2)


@cache
def width(type_: Type) -> int:
    """Return the bytes that any value takes in its column."""
    match type_:
        case Struct(members):
            return 1 + sum(width(one.type) for one in members)
        case Plain(name):
            return _WIDTHS.get(name, 4)
        case Decimal():
            return 16
        case Timestamp() | Time("us"):
            return 8
        case _:
            return 4
