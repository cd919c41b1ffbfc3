"""Records as commands show them."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from logpersister.cli.tables import printable
from logpersister.ranges import Offset


@dataclass(frozen=True, slots=True)
class ShownRecord:
    """One record as its object has it; None for what the format does not keep."""

    value: bytes
    """Value as it is stored; the columns of a typed row are one line of JSON."""
    offset: Offset | None = None
    timestamp: int | None = None
    """Milliseconds since 1970."""
    key: bytes | None = None
    headers: Sequence[tuple[bytes, bytes | None]] = ()
    is_tombstone: bool = False
    """Whether a record in quarantine has no value; `value` is empty then."""


def text_of(content: bytes) -> str:
    """Return bytes as text of which a terminal obeys nothing."""
    return printable(content.decode(errors="backslashreplace"))


def bytes_document(name: str, content: bytes | None) -> dict[str, Any]:
    """Return bytes as text where they are UTF-8, else as Base64 in a field of its own."""
    try:
        return {name: None if content is None else content.decode()}
    except UnicodeDecodeError as error:
        return {name: None, f"{name}Base64": base64.b64encode(error.object).decode()}
