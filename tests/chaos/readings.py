"""The topic of rows of any other parser: what was written is known, and files of any format are compared by content.

Which value is which row, or why it is none, is known from who has written it: no code reads values once more.
"""

import base64
import gzip
import json
import random
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import Any, NamedTuple

import fastavro
import pyarrow.parquet as pq
from pyarrow import orc

from tests.chaos.check import Digest, Row, Seen, digest, seen_as
from tests.chaos.choices import Choices, Format
from tests.chaos.conditions import keep_headers
from tests.chaos.contents import KAFKA, QUARANTINE, folder, refused_digest, row_digest
from tests.chaos.encoders import ENCODERS, bad_value
from tests.readers.arrow import rows_of as rows_of_arrow
from tests.readers.others import plain

TOPIC = "readings"
PREFIX = "by_shop="
_SHOPS = ("shop-2", "Köln/1 a", "a;b, 'c'", "")
_BAD_SHARE = 0.08
_NULL_SHARE = 0.15
_TEXTS = {"value", "kafka_key"}
"""What lines of JSON have as text, or as base64 under another name."""


class Expected(NamedTuple):
    """What becomes of a value."""

    place: str
    content: Digest


class Readings:
    """Values of every kind, and what becomes of each of them."""

    def __init__(self, choices: Choices) -> None:
        self._encoder = ENCODERS[choices.parser]()
        self._expected: dict[Digest, Expected] = {}
        self._number = 0

    def value(self, chance: random.Random) -> bytes | None:
        """Return a value: mostly a good one."""
        kind = chance.random()
        if kind < 0.03:
            return None
        row = self._row(chance)
        written = _written(row)
        if kind < 0.03 + _BAD_SHARE:
            bad = bad_value(self._encoder, chance, written)
            self._expected[digest(bad.value)] = Expected(QUARANTINE, refused_digest(bad.reason, bad.value))
            return bad.value
        value = self._encoder.encode(written)
        self._expected[digest(value)] = Expected(folder(PREFIX, row["shop"]), row_digest(plain(row), {}))
        return value

    def seen(self, record: Any, *, keeps: bool) -> Seen:
        """Return a record as kafka-python's consumer has given it, with what was known when its value was written."""
        if keeps and not keep_headers(record.headers):
            return seen_as(record, None)
        if record.value is None:
            return seen_as(record, folder(PREFIX, None))
        return seen_as(record, *self._expected[digest(record.value)])

    def _row(self, chance: random.Random) -> dict[str, Any]:
        self._number += 1
        moment = datetime.fromtimestamp(int(time.time()), UTC) + timedelta(milliseconds=chance.randrange(1000))
        row = {
            "shop": chance.choice(_SHOPS),
            "at": moment,
            "price": Decimal(chance.randrange(-(10**9) + 1, 10**9)).scaleb(-2),
            "ratio": chance.choice((0.5, -1e-300, 1e22, chance.random())),
            "ok": chance.random() < 0.5,
        }
        if self._encoder.is_nested:
            row |= {"geo": {"country": chance.choice(("de", "fr")), "lat": chance.uniform(-90, 90)}}
        row = {name: None if chance.random() < _NULL_SHARE else value for name, value in row.items()}
        tags = {"tags": ["a", "ä", ""][: chance.randrange(4)]} if self._encoder.is_nested else {}
        return {"id": self._number, **row, **tags}


def _written(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as formats have it that know neither instants nor decimals."""
    at, price = row["at"], row["price"]
    milliseconds = None if at is None else round(at.timestamp() * 1000)
    return {**row, "at": milliseconds, "price": None if price is None else str(price)}


def spec(choices: Choices) -> dict[str, Any]:
    """Return what a manifest says of this topic."""
    encoder = ENCODERS[choices.parser]()
    by_shop = [{"field": "shop", "prefix": PREFIX}]
    # Conditions about headers need them in quarantine, and only its Parquet has them.
    quarantine = {"quarantine": {"format": "parquet"}} if choices.keeps else {}
    return {
        "topics": [TOPIC],
        "value": dict(encoder.value),
        **quarantine,
        "output": {choices.format: {"kafkaColumns": ["offset", "timestamp", "key"]}, "partitionBy": by_shop},
    }


def rows_of(content: bytes, choices: Choices, *, quarantined: bool) -> list[Row]:
    """Read a file of rows, or of quarantine."""
    of_parquet = quarantined and choices.keeps
    return [_row(one, quarantined=quarantined) for one in _read("parquet" if of_parquet else choices.format, content)]


def _row(columns: Mapping[str, Any], *, quarantined: bool) -> Row:
    if quarantined:
        stands = refused_digest(columns["reason"], columns["value"] or b"")
    else:
        stands = row_digest({name: value for name, value in columns.items() if name not in KAFKA}, {})
    key = columns["kafka_key"]
    milliseconds = columns["kafka_timestamp"] // 1_000_000
    return Row(stands, columns["kafka_offset"], milliseconds, None if key is None else digest(key))


def _read(format_: Format, content: bytes) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a file as plain values."""
    if format_ == "avro":
        return [plain(row) for row in fastavro.reader(BytesIO(content))]
    if format_ == "jsonl":
        return [_of_line(json.loads(line)) for line in gzip.decompress(content).splitlines()]
    table = orc.read_table(BytesIO(content)) if format_ == "orc" else pq.read_table(BytesIO(content))
    return rows_of_arrow(table)


def _of_line(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line's columns in their types, docs/formats.md."""
    columns: dict[str, Any] = {}
    for name, value in line.items():
        if name.endswith("_base64"):
            columns[name.removesuffix("_base64")] = base64.b64decode(value)
        elif name in _TEXTS:
            columns[name] = None if value is None else value.encode()
        elif name in ("at", "kafka_timestamp"):
            columns[name] = None if value is None else datetime.fromisoformat(value)
        elif name == "price":
            columns[name] = None if value is None else round(Decimal(repr(value)), 2)
        else:
            columns[name] = value
    return {name: plain(value) for name, value in columns.items()}
