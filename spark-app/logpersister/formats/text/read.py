"""Values of lines in which backslashes are escapes (`delimiterInValue: escape`)."""

import re
from typing import Final

from logpersister.formats.damage import ContentError

_ESCAPE: Final = re.compile(rb"\\(\\|n|r|t|x[0-9a-f]{2}|)", re.DOTALL)
_UNESCAPED: Final = {b"\\": b"\\", b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def unescaped(line: bytes) -> bytes:
    """Return the value of a line with escapes. Raises `ContentError`."""
    return _ESCAPE.sub(_unescape, line) if b"\\" in line else line


def _unescape(found: "re.Match[bytes]") -> bytes:
    escape = found.group(1)
    if escape[:1] == b"x":
        return bytes([int(escape[1:], 16)])
    if escape not in _UNESCAPED:
        raise ContentError("a backslash in it escapes nothing")
    return _UNESCAPED[escape]
