"""What is shown of a record."""

from dataclasses import dataclass

from logpersister.ranges import Offset


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """One record as its object has it; None for what the format does not keep."""

    value: bytes
    """As it is stored; the columns of a typed row are one line of JSON."""
    offset: Offset | None = None
    timestamp: int | None = None
    """Milliseconds since 1970."""
    key: bytes | None = None
