"""Files of readings in each format: their content is what was written, and a changed one is told."""

import base64
import gzip
import json
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from tests.chaos import readings
from tests.chaos.check import Row, digest
from tests.chaos.choices import FORMATS, PARSERS, Choices
from tests.chaos.contents import QUARANTINE, folder, refused_digest, row_digest
from tests.readers.others import plain

NOW = datetime(2026, 11, 21, 12, 0, 0, 250_000, UTC)
ROW: dict[str, Any] = {
    "id": 7,
    "shop": "Köln/1 a",
    "at": NOW,
    "price": Decimal("-1.20"),
    "ratio": -1e-300,
    "ok": None,
    "tags": ["ä", ""],
    "geo": {"country": "de", "lat": 52.5},
}
KEY = b"\xff\0"
_INSTANT = {"type": "long", "logicalType": "timestamp-millis"}
_MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
_GEO = {
    "type": "record",
    "name": "Geo",
    "fields": [{"name": "country", "type": "string"}, {"name": "lat", "type": "double"}],
}
AVRO: dict[str, Any] = {
    "id": "long", "shop": "string", "at": _INSTANT, "price": _MONEY, "ratio": "double", "ok": ["null", "boolean"],
    "tags": {"type": "array", "items": "string"}, "geo": _GEO, "value": "bytes", "reason": "string",
    "kafka_offset": "long", "kafka_timestamp": _INSTANT, "kafka_key": "bytes",
}  # fmt: skip


def arrow(columns: dict[str, Any]) -> pa.Table:
    types = {"at": pa.timestamp("ms", "UTC"), "kafka_timestamp": pa.timestamp("ms", "UTC"), "ok": pa.bool_()}
    told = {name: pa.array([value], types.get(name)) for name, value in columns.items()}
    return pa.table(told | ({"price": pa.array([columns["price"]], pa.decimal128(9, 2))} if "price" in columns else {}))


def line(columns: dict[str, Any]) -> str:
    """Return a line as docs/formats.md has it."""
    told: dict[str, Any] = {}
    for name, value in columns.items():
        if isinstance(value, bytes):
            told[f"{name}_base64"] = base64.b64encode(value).decode()
        elif isinstance(value, datetime):
            told[name] = value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        else:
            told[name] = float(value) if isinstance(value, Decimal) else value
    return json.dumps(told)


def file(format_: str, columns: dict[str, Any]) -> bytes:
    sink = BytesIO()
    columns = columns | {"kafka_offset": 3, "kafka_timestamp": NOW, "kafka_key": KEY}
    match format_:
        case "avro":
            fields = [{"name": name, "type": AVRO[name]} for name in columns]
            fastavro.writer(sink, {"type": "record", "name": "Row", "fields": fields}, [columns])
        case "orc":
            orc.write_table(arrow(columns), sink)
        case "parquet":
            pq.write_table(arrow(columns), sink)
        case _:
            return gzip.compress(line(columns).encode() + b"\n")
    return sink.getvalue()


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_of_each_format_has_what_was_written(format_: Any) -> None:
    choices, stands = Choices(format=format_), (3, round(NOW.timestamp() * 1000), digest(KEY))
    written = Row(row_digest(plain(ROW), {}), *stands)
    assert readings.rows_of(file(format_, ROW), choices, quarantined=False) == [written]
    for changed in (
        {"price": Decimal("-1.21")},
        {"tags": ["ä"]},
        {"ok": False},
        {"geo": {"country": "de", "lat": 52.6}},
    ):
        assert readings.rows_of(file(format_, ROW | changed), choices, quarantined=False) != [written]
    refused = file(format_, {"value": b"\xffx", "reason": "no_match"})
    expected = Row(refused_digest("no_match", b"\xffx"), *stands)
    assert readings.rows_of(refused, choices, quarantined=True) == [expected]


def test_quarantine_is_parquet_where_conditions_are_about_headers() -> None:
    content = file("parquet", {"value": b"x", "reason": "no_match"})
    (row,) = readings.rows_of(content, Choices(format="orc", keeps=True), quarantined=True)
    assert row.value == refused_digest("no_match", b"x")


@pytest.mark.parametrize("parser", PARSERS)
def test_readings_of_every_kind_are_drawn(parser: Any) -> None:
    written, chance = readings.Readings(Choices(parser=parser)), random.Random(5)

    def place(value: bytes | None, *headers: tuple[str, bytes]) -> str | None:
        record = SimpleNamespace(offset=1, timestamp=2, key=None, value=value, headers=list(headers))
        return written.seen(record, keeps=True).place

    values = [written.value(chance) for _ in range(2000)]
    places = Counter(map(place, values))
    assert set(places) == {
        QUARANTINE,
        *(folder(readings.PREFIX, shop) for shop in ("shop-2", "Köln/1 a", "a;b, 'c'", "")),
    }
    assert 80 < places[QUARANTINE] < 240
    assert place(values[-1], ("env", b"test")) is None
    with pytest.raises(KeyError):
        place(b"nobody has written this")
