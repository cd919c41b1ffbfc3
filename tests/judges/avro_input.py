"""Avro's binary encoding, read piece by piece (specification 1.12); no code of the native parser is in it."""

from collections.abc import Iterator

from tests.judges.growth import Budget
from tests.judges.refusal import RefusalError


class Cursor:
    """What is left of a value."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self.budget = Budget(len(data))

    @property
    def left(self) -> int:
        return len(self.data) - self.position

    def take(self, size: int) -> bytes:
        if not 0 <= size <= self.left:
            raise RefusalError("not_avro")
        self.position += size
        return self.data[self.position - size : self.position]

    def int64(self) -> int:
        found = shift = 0
        while True:
            (byte,) = self.take(1)
            if shift == 63 and byte > 1:
                raise RefusalError("not_avro")
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (found >> 1) ^ -(found & 1)
            shift += 7

    def int32(self) -> int:
        found = self.int64()
        if not -(2**31) <= found < 2**31:
            raise RefusalError("not_avro")
        return found

    def boolean(self) -> bool:
        (byte,) = self.take(1)
        if byte > 1:
            raise RefusalError("not_avro")
        return byte == 1

    def place(self, of: int) -> int:
        found = self.int64()
        if not 0 <= found < of:
            raise RefusalError("not_avro")
        return found

    def sized(self) -> bytes:
        return self.take(self.int64())

    def items(self, *, skipped: bool = False) -> Iterator[None]:
        """Yield for each item of an array or a map, which the caller must read then.

        Args:
            skipped: whether they become nothing; then of items without any bytes one is enough.
        """
        while count := self.int64():
            behind = None
            if count < 0:
                size = self.int64()
                if not 0 <= size <= self.left:
                    raise RefusalError("not_avro")
                behind = self.left - size
            for _ in range(abs(count)):
                left = self.left
                yield
                if skipped and self.left == left:
                    break
            if behind not in (None, self.left):
                raise RefusalError("not_avro")

    def end(self) -> None:
        if self.left:
            raise RefusalError("not_avro")
