"""Turns any text into one segment of an object name, and back.

The rule is percent-encoding (RFC 3986) of the UTF-8 bytes: letters, digits, ``-``, ``.`` and ``_`` stay, everything
else becomes ``%XX`` in upper case. So a segment holds no ``/``, no control character and no byte that an S3 tool
would treat specially. ``.`` and ``..`` are encoded too, because tools that mirror a bucket into a directory would
follow them out of the prefix.
"""

import hashlib
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, unquote

QUARANTINE = "_quarantine"
"""The partition path of records that the parser refused. No rule of ``partitionBy`` makes a segment that begins with
``_``, a topic of this name is escaped, and query engines pass over such folders."""

LATE = "_late"
"""The folder of records that came when their own folder was finished (``spec.finish.late: folder``): their own folders
stand below it, so a partition path begins with it. The same is true of this name."""

ARCHIVES = "_archives"
"""The folder of archives of finished folders, whose paths stand below it. The same is true of this name."""

_NO_TEXT: Final = frozenset("\ufffe\uffff")
"""What lists of objects, which are XML, cannot have."""

_DIGEST_DIGITS: Final = 16

MAX_SEGMENT_BYTES = 255
"""S3 has no limit for one segment, but S3 servers that keep objects as files have that of the file system."""


def escape(text: str) -> str:
    """Return `text` as one segment of an object name; ``unescape`` gives it back.

    Raises ValueError for the empty text: a name with an empty segment is not kept as it is by every S3 server.
    """
    if not text:
        raise ValueError("an empty text cannot be a segment of an object name")
    segment = _percent(text)
    return segment.replace(".", "%2E") if segment in (".", "..") else segment


def _percent(text: str) -> str:
    return quote(text, safe="", encoding="utf-8", errors="surrogatepass").replace("~", "%7E")


def escape_value(text: str) -> str:
    """Return a value as it stands in the name of a folder; ``unescape_value`` gives it back. Raises ValueError.

    As `escape`, but what is not ASCII stays as it is: Hive, Spark and Trino take each ``%XX`` for one character, so the
    bytes of ``ö`` would become two of them. pyarrow and DuckDB read both.
    """
    if text.isascii():
        return escape(text)
    return "".join(sign if sign >= "\u00a0" and sign not in _NO_TEXT else _percent(sign) for sign in text)


def shortened(segment: str, most: int, whole: bytes) -> str:
    """Return an escaped text in `most` bytes; a longer one is cut, and ends with a digest of what it stands for."""
    if len(raw := segment.encode()) <= most:
        return segment
    begin = raw[: most - _DIGEST_DIGITS - 1].decode(errors="ignore")
    cut = begin.rfind("%", len(begin) - 2)
    return f"{begin if cut < 0 else begin[:cut]}~{hashlib.sha256(whole).hexdigest()[:_DIGEST_DIGITS]}"


def unescape_value(segment: str) -> str | None:
    """Return the text that `escape_value` made `segment` from; None when it never gives this segment."""
    return unescape(segment, escape_value)


def unescape(segment: str, escaped: Callable[[str], str] = escape) -> str | None:
    """Return the text that `escape` made `segment` from, or another one that escapes; None when none gives it."""
    try:
        text = unquote(segment, encoding="utf-8", errors="surrogatepass")
        return text if text and escaped(text) == segment else None
    except UnicodeDecodeError:
        return None


def is_aside(path: str) -> bool:
    """Whether a partition path, or the first folder of one, is none that ``partitionBy`` makes."""
    return path.split("/", 1)[0] in (QUARANTINE, LATE, ARCHIVES)


def late_path(path: str) -> str:
    """Return where the records of a partition path stand when they came late."""
    return f"{LATE}/{path}"


def own_path(path: str) -> str:
    """Return a partition path as ``partitionBy`` makes it, also where the records came late."""
    return path.removeprefix(f"{LATE}/")


def is_safe_path(path: str) -> bool:
    """Whether `path` is "" or segments joined by ``/`` that stay below where the path is appended.

    Looser than `escape`: a path also has the ``=`` of ``dt=2026-11-21``.
    """
    return path == "" or all(_is_safe_segment(segment) for segment in path.split("/"))


def _is_safe_segment(segment: str) -> bool:
    ascii_part = "".join(sign for sign in segment if sign < "\u00a0")
    return (
        segment not in ("", ".", "..")
        and ascii_part.isascii()
        and ascii_part.isprintable()
        and "\\" not in segment
        and len(segment.encode(errors="replace")) <= MAX_SEGMENT_BYTES
    )
