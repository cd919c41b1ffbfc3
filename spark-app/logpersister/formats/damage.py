"""What is wrong with an object that does not hold what its format asks for."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa


class ContentError(Exception):
    """An object that does not hold what its format asks for; the message says what is wrong, in a clause."""


@contextmanager
def damage_told(file: str) -> Iterator[None]:
    """Turn what readers raise for a damaged file into `ContentError`; `file`: what it should be, with its article."""
    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ContentError(f"it is no whole {file} ({reason})") from None
