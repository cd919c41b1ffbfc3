"""What a row is, whoever has read it: a digest that no reader's types and no schema's version have a part in."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from tests.chaos.check import Digest, Row, digest

QUARANTINE = "_quarantine"
LATE_FOLDER = "_late"
NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
KAFKA = ("kafka_topic", "kafka_partition", "kafka_offset", "kafka_timestamp", "kafka_key", "kafka_headers")
_LONG = 64
"""Texts of more characters are told by their SHA-256, which Spark has, too: a run has gigabytes of them."""


def row_digest(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> Digest:
    """Return what stands for a row.

    Args:
        values: its columns, of a record or of a file, as Python has them.
        defaults: those of columns that files of an earlier schema do not have. A column that is absent and one that has
            its default are the same, so that the file's schema has no part in it.
    """
    told = {name: value for name, value in values.items() if value != defaults.get(name)}
    return digest(json.dumps(_plain(told), sort_keys=True).encode())


def refused_digest(reason: str, value: bytes) -> Digest:
    """Return what stands for a record in quarantine: why it is there, and its value as it was."""
    return digest(reason.encode() + b"\0" + value)


def row_of(columns: Mapping[str, Any], defaults: Mapping[str, Any]) -> Row:
    """Return a row of a file or a table, which has Kafka's columns beside its own, and none of folders."""
    values = {name: value for name, value in columns.items() if name not in KAFKA}
    if all(value is None for value in values.values()):
        values = {}
    return stored_row(row_digest(values, defaults), columns)


def quarantined_row(columns: Mapping[str, Any]) -> Row:
    """Return a row of a file of quarantine."""
    return stored_row(refused_digest(columns["reason"], columns["value"] or b""), columns)


def stored_row(content: Digest, columns: Mapping[str, Any]) -> Row:
    """Return a row with what Kafka's columns say of its record."""
    key = columns["kafka_key"]
    return Row(
        content,
        columns["kafka_offset"],
        milliseconds_of(columns["kafka_timestamp"]),
        digest(key) if key is not None else None,
    )


def folder(prefix: str, value: str | None) -> str:
    """Return the folder of a value, docs/schemas.md: signs of ASCII are escaped, letters of other scripts are not."""
    if value in (None, ""):
        return prefix + NULL_FOLDER
    return prefix + re.sub(r"[\x00-\x7f]+", lambda found: quote(found[0], safe="-._"), str(value))


def minute_folder(milliseconds: int) -> str:
    """Return the folder of a minute, below those of its day and hour."""
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return f"dt={moment:%Y-%m-%d}/hr={moment:%H}/min={moment:%M}"


def milliseconds_of(moment: datetime) -> int:
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def _plain(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONG:
        return hashlib.sha256(value.encode()).hexdigest()
    if isinstance(value, datetime):
        return milliseconds_of(value)
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


TOMBSTONE = row_digest({}, {})
"""Stands for a row whose columns are all null."""
