"""Reads JSON lines: each is a document, in which bytes are text, or base64 where they are none."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from logpersister.formats.damage import ContentError, damage_told
from logpersister.formats.file_columns import KAFKA_FIELDS
from logpersister.records.schema import HEADERS, RECORDS, RECORDS_WITH_HEADERS

LINE_FEED: Final = b"\n"
MOST_BYTES: Final = 16 << 20
"""Bytes of lines that become records at once; each line may be longer."""
_BASE64: Final = "_base64"
_OFFSET, _TIMESTAMP, _KEY, _HEADERS = (KAFKA_FIELDS[name].name for name in ("offset", "timestamp", "key", "headers"))


def document(line: bytes) -> dict[str, Any]:
    """Return the document of a line. Raises `ContentError`."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ContentError(f"a line in it is no JSON object: {line[:80]!r}")
    return found


def bytes_in(document: Mapping[str, Any], name: str) -> bytes | None:
    """Return the bytes that a field of a document stands for; None: it is null. Raises `ContentError`."""
    try:
        if name + _BASE64 in document:
            return base64.b64decode(document[name + _BASE64], validate=True)
        text: str | None = document[name]
        return None if text is None else text.encode()
    except (LookupError, TypeError, ValueError, AttributeError):
        raise ContentError(f"a line in it has no {name}") from None


def batches_of(lines: Iterable[bytes], most_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the records of lines that have all of a record, in columns of `records.schema`. Raises `ContentError`."""
    some: list[Mapping[str, Any]] = []
    size = 0
    for line in lines:
        if some and (len(some) == most_rows or size + len(line) > MOST_BYTES):
            yield kept_records(some)
            some, size = [], 0
        some.append(document(line))
        size += len(line)
    if some:
        yield kept_records(some)


def kept_records(documents: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return the records of lines that have all of one, in columns of `records.schema`; headers where the first has.

    Raises `ContentError`.
    """
    has_headers = bool(documents) and _HEADERS in documents[0]
    with damage_told("JSON lines of records"):
        times = pa.array([one.get(_TIMESTAMP) for one in documents], pa.string()).cast(pa.timestamp("ms", "UTC"))
        columns: list[Any] = [
            pa.array([_offset(one) for one in documents], pa.int64()),
            times.cast(pa.int64()).fill_null(-1),
            pa.array([bytes_in(one, _KEY) for one in documents], pa.binary()),
            pa.array([bytes_in(one, "value") for one in documents], pa.binary()),
        ]
        if has_headers:
            columns.append(pa.array([_headers(one) for one in documents], HEADERS))
        return pa.RecordBatch.from_arrays(columns, schema=RECORDS_WITH_HEADERS if has_headers else RECORDS)


def _offset(document: Mapping[str, Any]) -> int:
    found = document.get(_OFFSET)
    if type(found) is not int:
        raise ContentError(f"a line in it has no {_OFFSET}")
    return found


def _headers(document: Mapping[str, Any]) -> list[Mapping[str, bytes | None]]:
    found = document.get(_HEADERS)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ContentError(f"a line in it has no {_HEADERS}")
    return [{name: bytes_in(one, name) for name in ("key", "value")} for one in found]
