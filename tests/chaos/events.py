"""The topic of many types: rows in a folder for each shop, bytes, types that are left out, declared late, or never.

While it runs the manifest is corrected: a field is not required any more, and one more type is declared. So records
come out of quarantine. Judged is what the corrected manifest says, once a replay has come to its end.
"""

import base64
import gzip
import json
import random
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from tests.chaos import sales
from tests.chaos.check import Digest, Row, Seen, digest, seen_as
from tests.chaos.conditions import OF_CLICKS, keep_click, keep_headers
from tests.chaos.contents import (
    LATE_FOLDER,
    QUARANTINE,
    folder,
    quarantined_row,
    refused_digest,
    row_digest,
    row_of,
    stored_row,
)
from tests.chaos.sales import PREFIX

TOPIC = "events"
_HEADER = "event-type"
_KAFKA_COLUMNS = {"kafkaColumns": ["offset", "timestamp", "key"]}
_LATE = "refund"
"""Declared by the corrected manifest only."""
STORED_AS_PARQUET = ("clicks", _LATE)
"""Folders of the types that can have tables."""
_KINDS = (("click", 50), ("audit.login", 10), ("audit.änder/ung", 5), ("noise", 10), (_LATE, 15), ("ghost", 4), ("", 6))
"""Types and how many of a hundred they are; nobody declares the last two."""


def types(*, corrected: bool, keeps: bool = False) -> dict[str, Any]:
    """Return `spec.types`, as it was or as it was corrected."""
    rows: dict[str, Any] = {"parquet": _KAFKA_COLUMNS}
    by_shop = rows | {"partitionBy": [{"field": "shop", "prefix": PREFIX}]}
    lines = {"jsonl": {"compression": "gzip"}}
    return _types(by_shop, rows, lines, corrected=corrected, keeps=keeps)


def types_by_minute(*, keeps: bool) -> dict[str, Any]:
    """Return the corrected `spec.types` with folders by minute and columns of tables."""
    by_minute = [{"date": {"granularity": level}} for level in ("day", "hour", "minute")]
    columns = {"kafkaColumns": ["partition", "offset", "timestamp", "key"], "tombstones": "null"}
    rows = {"parquet": columns, "partitionBy": by_minute}
    lines = {"jsonl": {"compression": "gzip"}, "partitionBy": by_minute}
    return _types(rows, rows, lines, corrected=True, keeps=keeps)


def _types(
    of_clicks: dict[str, Any], rows: dict[str, Any], lines: dict[str, Any], *, corrected: bool, keeps: bool
) -> dict[str, Any]:
    click = [
        {"name": "id", "type": "int64", "required": True},
        {"name": "user", "type": "string"} | ({} if corrected else {"required": True}),
        {"name": "shop", "type": "string"},
    ]
    entries: list[dict[str, Any]] = [
        {
            "names": ["click"],
            "folder": "clicks",
            "value": {"json": {"fields": click}},
            "output": of_clicks,
            **({"keep": list(OF_CLICKS)} if keeps else {}),
        },
        {"pattern": "^audit[.]", "value": {"bytes": {}}, "output": lines},
        {"names": ["noise"], "action": "drop"},
    ]
    if corrected:
        fields = [{"name": "id", "type": "int64"}, {"name": "amount", "type": "float64"}]
        entries.append({"names": [_LATE], "value": {"json": {"fields": fields}}, "output": rows})
    return {"header": _HEADER, "entries": entries}


class Values:
    """Values with their headers, drawn from a seed."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._number = 0

    def record(self) -> tuple[list[tuple[str, bytes]], bytes | None]:
        """Return headers and value of a record."""
        chance = self._chance
        kinds, shares = zip(*_KINDS, strict=True)
        (kind,) = chance.choices(kinds, shares)
        headers = [(_HEADER, b"overruled")] if kind and chance.random() < 0.1 else []
        headers += [(_HEADER, kind.encode())] if kind else []
        self._number += 1
        if kind == "click":
            return headers, self._click()
        if kind.startswith("audit") and chance.random() < 0.5:
            return headers, b"%d:" % self._number + chance.randbytes(chance.randint(0, 400))
        value = {"id": self._number, "amount": chance.randrange(1000) / 8, "text": chance.randbytes(30).hex()}
        return headers, json.dumps(value).encode()

    def _click(self) -> bytes | None:
        chance, kind = self._chance, self._chance.random()
        if kind < 0.03:
            return None
        if kind < 0.07:
            bad = (b'{"id": %d, "user"' % self._number, b'{"id": "%d", "user": "a"}' % self._number)
            return chance.choice(bad)
        number = chance.randrange(sales.SHOPS // 10 if kind < 0.5 else sales.SHOPS)
        value = {"id": self._number, "user": f"user {number}", "shop": f"Köln/{number} a" if number % 7 else ""}
        if kind > 0.85:
            del value["user"]  # refused by the manifest as it is in the beginning
        return json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()


class _Judged(NamedTuple):
    place: str | None
    content: Digest | None


def seen(record: Any, *, keeps: bool = False) -> Seen:
    """Return a record as kafka-python's consumer has given it, judged by the corrected manifest."""
    left_out = keeps and not keep_headers(record.headers)
    judged = _LEFT_OUT if left_out else _judged(record.headers, record.value, keeps=keeps)
    return seen_as(record, *judged)._replace(if_late=refused_digest("late", record.value or b""))


_LEFT_OUT = _Judged(None, None)


def _judged(headers: Any, value: bytes | None, *, keeps: bool) -> _Judged:
    kinds = [content.decode() for name, content in headers if name == _HEADER]
    kind = kinds[-1] if kinds else ""
    if kind == "click":
        return _click(value, keeps=keeps)
    if kind.startswith("audit."):
        return _Judged(folder("type=", kind), None if value is None else digest(value))
    if kind == "noise":
        return _LEFT_OUT
    assert value is not None, "only clicks are null"
    if kind == _LATE:
        read = json.loads(value)
        return _Judged(folder("type=", kind), row_digest({name: read[name] for name in ("id", "amount")}, {}))
    return _Judged(QUARANTINE, refused_digest("unknown_type" if kind else "no_type", value))


def _click(value: bytes | None, *, keeps: bool) -> _Judged:
    if value is None:
        return _Judged(f"type=clicks/{folder(PREFIX, None)}", None)
    try:
        read: Mapping[str, Any] = json.loads(value)
    except ValueError:
        return _Judged(QUARANTINE, refused_digest("not_json", value))
    if not isinstance(read["id"], int):
        return _Judged(QUARANTINE, refused_digest("wrong_type", value))
    row = {name: read.get(name) for name in ("id", "user", "shop")}
    if keeps and not keep_click(row):
        return _LEFT_OUT
    return _Judged(f"type=clicks/{folder(PREFIX, read['shop'])}", row_digest(row, {}))


def rows_of(path: str, content: bytes) -> list[Row]:
    """Read a file of this topic."""
    if path.removeprefix(f"{LATE_FOLDER}/").startswith("type=audit"):
        return [_line(json.loads(line)) for line in gzip.decompress(content).splitlines()]
    rows = pq.read_table(BytesIO(content)).to_pylist()
    if path == QUARANTINE:
        return [quarantined_row(one) for one in rows]
    return [row_of(one, {}) for one in rows]


def _line(columns: dict[str, Any]) -> Row:
    """Read a line of the envelope, docs/formats.md."""

    def binary(name: str) -> bytes | None:
        if f"{name}_base64" in columns:
            return base64.b64decode(columns[f"{name}_base64"])
        text = columns[name]
        return None if text is None else text.encode()

    value, key = binary("value"), binary("kafka_key")
    assert value is not None, "null values are left out"
    moment = datetime.fromisoformat(columns["kafka_timestamp"])
    return stored_row(digest(value), {**columns, "kafka_timestamp": moment, "kafka_key": key})
