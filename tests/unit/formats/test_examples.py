"""Manifests of examples/ about rows and files, without servers: each does with values what its comments say.

Those that a member runs are in tests/integration.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from pyarrow import orc

from logpersister.manifest.load import load
from logpersister.values.reading.writers import Writers
from tests.readers.arrow import rows_of
from tests.readers.others import plain
from tests.unit.formats.events import files
from tests.unit.formats.samples import Record, batch, with_headers
from tests.unit.records import test_hiding as hidden
from tests.unit.records.avro_samples import KnownWriters, encoded

EXAMPLES: Final = Path(__file__).parents[3] / "examples"
NOON: Final = 1_795_521_600_000
NANOSECONDS: Final = NOON * 10**6


@dataclass(frozen=True)
class Case:
    """A record, and the file that it becomes beside one that is refused."""

    value: bytes | None
    path: str
    row: Mapping[str, Any]
    bad: Mapping[bytes, tuple[str, str | None]] = field(default_factory=dict)
    """Values that are refused: why, and which field."""
    writers: Writers | None = None


ORDER: Final = b'{"id": 7, "placed": "2026-11-24T12:00:00Z", "total": 1.25, "items": [{"sku": "a"}], "new": 1}'
ORDER_ROW: Final = {
    "id": 7, "placed": NANOSECONDS, "total": Decimal("1.25"), "items": [{"sku": "a", "pieces": None}],
    "kafka_partition": 3, "kafka_offset": 100,
}  # fmt: skip
OLDER: Final = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "id", "type": "int"},
    ],
}
CASES: Final[Mapping[str, Case]] = {
    "parquet": Case(
        b'{"id": 7, "at": "2026-11-24T12:00:00Z", "received": 1795521600001, "amount": "1.5", '
        b'"geo": {"country": "DE"}, "items": [], "attributes": {"a": "b"}, "rest": [1, {"b": 2}], "new": 1}',
        "country=DE/dt=2026-11-24",
        {
            "id": 7, "at": NANOSECONDS, "received": NANOSECONDS + 10**6, "amount": Decimal("1.50"),
            "rest": '[1,{"b":2}]',
            "geo": {"country": "DE", "lat": None, "lon": None}, "items": [], "attributes": {"a": "b"},
            "kafka_partition": 3, "kafka_offset": 100, "kafka_timestamp": NANOSECONDS,
        },
        {b"{}": ("missing", "id"), b'{"id": 1, "at": "2026-11-24T12:00:00Z", "geo": {}}': ("missing", "geo.country")},
    ),
    "orc": Case(ORDER, "dt=2026-11-24", ORDER_ROW),
    "lenient": Case(
        b'{"id": "7", "@timestamp": "2026-11-24T12:00:00Z", "user": {"phone": 123, "zip": 1}, "x": "\xff", "id": "8"}',
        "dt=2026-11-24",
        {
            "id": 8, "at": NANOSECONDS, "channel": "web", "user": {"phone_number": "123", "country": None},
            "_rest": '{"user":{"zip":1},"x":"\ufffd"}',
        },
        {b'{"id": "x"}': ("bad_text", "id"), b"{": ("not_json", None)},
    ),
    "pseudonyms": Case(
        b'{"id": 7, "email": "a@example.org", "user": {"phone": "0123456", "country": "DE"}}',
        "dt=2026-11-24",
        {
            "id": 7, "at": None, "email": hidden.hashed("a@example.org"),
            "user": {"phone": "***56", "country": "DE"},
        },
        {b'{"email": "a@example.org"}': ("missing", "id")},
    ),
    "jsonl": Case(
        b'{"name": 1.50}',
        "dt=2026-11-24",
        {
            "value": '{"name": 1.50}', "kafka_topic": "clicks", "kafka_partition": 3, "kafka_offset": 100,
            "kafka_timestamp": "2026-11-24T12:00:00.000Z", "kafka_key": "k",
            "kafka_headers": [{"key": "trace", "value": "1"}],
        },
    ),
    "protobuf": Case(
        bytes.fromhex("0807120608c0f895d80622050a01611002320178"),
        "dt=2026-11-24",
        {
            "id": 7, "at": NANOSECONDS, "note": None, "items": [{"sku": "a", "quantity": 2}], "card": None,
            "invoice": "x",
        },
        {b"\x08": ("not_protobuf", None)},
    ),
    "avro": Case(
        encoded(OLDER, {"id": 7, "at": NOON * 1000}),
        "dt=2026-11-24",
        {"id": 7, "at": NANOSECONDS, "price": None, "customer": None},
        {b"\0\0\0\0\2": ("unknown_schema", None), b"{}": ("no_header", None)},
        KnownWriters({1: OLDER}),
    ),
}  # fmt: skip


def rows(content: bytes, format_: str) -> list[dict[str, Any]]:
    """Return what another project reads of a file."""
    file = io.BytesIO(content)
    match format_:
        case "jsonl":
            lines = zstandard.ZstdDecompressor().stream_reader(file).read().splitlines()
            found = [json.loads(line) for line in lines]
        case "avro":
            found = [plain(row) for row in fastavro.reader(file)]
        case _:
            table: pa.Table = orc.read_table(file) if format_ == "orc" else pq.read_table(file)
            found = rows_of(table)
    return found


@pytest.mark.parametrize("example", CASES)
def test_an_example(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hidden.VARIABLE, hidden.KEY)
    case, spec = CASES[example], load(EXAMPLES / f"{example}.yaml").spec
    values = [case.value, *case.bad]
    records = batch([Record(100 + place, NOON, b"k", value) for place, value in enumerate(values)])
    records = with_headers(records, [[(b"trace", b"1")]])
    written = files(spec.output, [records], spec.row_schema, spec.parser, case.writers)
    refused = [
        (row["reason"], row["field"])
        for path, content in written.items()
        if path.startswith("_quarantine")
        for row in rows(content, "parquet")
    ]
    assert refused == list(case.bad.values())
    assert rows(written[case.path], spec.output.format) == [case.row]
