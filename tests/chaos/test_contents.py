"""What the judges of contents say of records, and that both sides of a comparison come to the same."""

import json
import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.chaos import events, sales, table_readers
from tests.chaos.choices import LATE
from tests.chaos.contents import QUARANTINE, TOMBSTONE, minute_folder, refused_digest, row_digest
from tests.chaos.minutes import ByTypeAndMinute, OfType
from tests.chaos.sale_schemas import DEFAULTS, MENDED

NOW = 1_795_262_400_000


class Registry:
    """Gives ids in the order of what it has not had yet."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self.deleted: list[tuple[str, int]] = []

    def register(self, subject: str, schema: Any) -> int:
        return self._ids.setdefault(json.dumps([subject, schema]), len(self._ids) + 1)

    def delete_version(self, subject: str, version: int) -> None:
        self.deleted.append((subject, version))


def evolved(versions: int) -> sales.Writers:
    writers = sales.Writers(Registry())
    for _ in range(1, versions):
        assert writers.evolve()
    return writers


def encoded(version: sales.Version, row: dict[str, Any]) -> bytes:
    return sales._encoded(version.schema, row, version.id)


def record(value: bytes | None, headers: Any = ()) -> Any:
    return SimpleNamespace(offset=7, timestamp=NOW, key=b"k", value=value, headers=list(headers))


def parquet(columns: dict[str, Any], schema: pa.Schema) -> bytes:
    sink = BytesIO()
    kafka = {"kafka_offset": 7, "kafka_timestamp": datetime.fromtimestamp(NOW / 1000, UTC), "kafka_key": b"k"}
    fields: list[Any] = [
        *schema,
        pa.field("kafka_offset", pa.int64()),
        pa.field("kafka_timestamp", pa.timestamp("ms", "UTC")),
        pa.field("kafka_key", pa.binary()),
    ]
    pq.write_table(pa.Table.from_pylist([columns | kafka], pa.schema(fields)), sink)
    return sink.getvalue()


def test_values_of_every_kind_are_drawn_and_judged() -> None:
    writers = evolved(6)
    judge, values = sales.Judge(writers), sales.Values(random.Random(1), writers)
    places: Counter[str | None] = Counter()
    versions = Counter[int]()
    for _ in range(3000):
        seen = judge.seen(record(values.value()))
        places["shop" if str(seen.place).startswith(sales.PREFIX) else seen.place] += 1
        versions[seen.version] += 1
    assert 120 < places[QUARANTINE] < 300
    assert set(versions) == set(range(7))
    assert places["shop"] > 2500
    assert judge.seen(record(values.value(large=True))).version > 0


_FIELDS: list[Any] = [
    pa.field("id", pa.int64()),
    pa.field("shop", pa.string()),
    pa.field("at", pa.timestamp("ms", "UTC")),
    pa.field("price", pa.decimal128(9, 2)),
    pa.field("note", pa.string()),
]
SCHEMA = pa.schema(_FIELDS)
ROW: dict[str, Any] = {
    "id": 1,
    "shop": "Köln/7 a",
    "at": datetime.fromtimestamp(NOW / 1000, UTC),
    "price": Decimal("-1.20"),
    "note": "x" * 100,
}


def test_a_row_is_the_same_by_every_version_of_the_file() -> None:
    """A value of the first version, in files of the first and of the last."""
    writers = evolved(6)
    value = encoded(writers.versions[0], ROW)
    seen = sales.Judge(writers).seen(record(value))
    assert seen.place == "by_shop=Köln%2F7%20a"
    last = SCHEMA
    for name, type_ in (
        ("coupon", pa.string()),
        ("rating", pa.int64()),
        ("tags", pa.list_(pa.string())),
        ("geo", pa.struct([("country", pa.string()), ("lat", pa.float64())])),
    ):
        last = last.append(pa.field(name, type_))
    of_first, first = sales.rows_of(parquet(ROW, SCHEMA), quarantined=False)
    of_last, sixth = sales.rows_of(parquet(ROW | {"rating": -1, "tags": []}, last), quarantined=False)
    assert (first, sixth) == (1, 6)
    assert of_first == of_last
    assert (of_first[0].value, of_first[0].offset, of_first[0].timestamp) == (seen.content, 7, NOW)


def test_a_row_of_an_older_file_has_nulls_in_the_table() -> None:
    writers = evolved(6)
    seen = sales.Judge(writers).seen(record(encoded(writers.versions[0], ROW)))
    kafka = {"kafka_partition": 0, "kafka_offset": 7, "kafka_timestamp": datetime.fromtimestamp(NOW / 1000, UTC)}
    folders = {"dt": "2026-11-21", "hr": "12", "min": "00"}
    columns = ROW | kafka | {"kafka_key": b"k"} | folders | {"rating": None, "tags": None, "geo": None, "coupon": None}
    live = table_readers._row(columns)
    assert live == (0, minute_folder(NOW), sales.ByMinute().row(seen))
    assert table_readers._row(columns | {"rating": 5} | folders).row != live.row
    assert table_readers._row(dict.fromkeys(ROW) | kafka | {"kafka_key": b"k"} | folders).row.value == TOMBSTONE


@pytest.mark.parametrize(
    "changed", [{"id": 2}, {"price": Decimal("-1.21")}, {"note": "x" * 99}, {"shop": None}, {"at": None}]
)
def test_a_changed_value_is_another_row(changed: dict[str, Any]) -> None:
    writers = evolved(1)
    seen = sales.Judge(writers).seen(record(encoded(writers.versions[0], ROW)))
    rows, _ = sales.rows_of(parquet(ROW | changed, SCHEMA), quarantined=False)
    assert rows[0].value != seen.content


def test_values_in_lists_and_structs_are_told_apart() -> None:
    geo: dict[str, Any] = {"country": "de", "lat": 52.5}
    rows: list[dict[str, Any]] = [{"tags": ["ä", ""]}, {"tags": ["ä"]}, {"ok": None}, {"ok": False}]
    rows += [{"geo": geo}, {"geo": geo | {"lat": 52.6}}]
    assert len({row_digest(row, {}) for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("remedy", "numbers", "version", "row"),
    [
        ("pin", [1, 2, 3, 3], 3, {}),
        ("mend", [1, 2, 3, MENDED + 3, MENDED + 3, MENDED + 4], MENDED + 3, {"origin": "app"}),
        ("delete", [1, 2, 3, 3, 4], 3, {}),
    ],
)
def test_a_version_that_can_read_none_before_it_is_never_that_of_columns(
    remedy: str, numbers: list[int], version: int, row: dict[str, Any]
) -> None:
    writers = evolved(3)
    assert writers.refuse() == 3
    assert writers.evolve() is None, "nobody registers one before somebody has decided"
    value = encoded(writers.versions[-1], ROW | {"coupon": None, "rating": 5, "origin": "app"})
    if remedy != "pin":
        (writers.mend if remedy == "mend" else writers.delete_refused)()
        assert writers.evolve() == 4
    assert [one.number for one in writers.versions] == numbers
    seen = sales.Judge(writers).seen(record(value))
    assert (seen.version, seen.content) == (version, row_digest(ROW | {"rating": 5} | row, DEFAULTS))
    writers._registry = again = Registry()
    writers.register_again()
    assert again.deleted == ([(sales.SUBJECT, 4)] if remedy == "delete" else [])


def test_a_file_of_a_mended_version_has_the_rows_of_the_first() -> None:
    columns = SCHEMA.append(pa.field("coupon", pa.string())).append(pa.field("origin", pa.string()))
    rows, version = sales.rows_of(parquet(ROW | {"origin": "web"}, columns), quarantined=False)
    assert version == MENDED + 2
    assert rows[0].value == row_digest(ROW, DEFAULTS)


def test_columns_of_no_version_are_told() -> None:
    with pytest.raises(ValueError, match="no version of the schema has the columns"):
        sales.rows_of(parquet({"id": 1}, pa.schema([("id", pa.int64())])), quarantined=False)
    narrow = SCHEMA.append(pa.field("rating", pa.int64()))
    with pytest.raises(ValueError, match="no version"):
        sales.rows_of(parquet(ROW, narrow), quarantined=False)


def test_a_tombstone_is_a_row_of_nulls_where_it_is_one() -> None:
    seen = sales.Judge(evolved(1)).seen(record(None))
    assert seen.place == "by_shop=__HIVE_DEFAULT_PARTITION__"
    row = sales.ByMinute().row(seen)
    rows, _ = sales.rows_of(parquet({}, SCHEMA), quarantined=False)
    assert row == rows[0]
    assert sales.ByMinute().path(seen) == minute_folder(NOW) == "dt=2026-11-21/hr=12/min=00"


def test_conditions_leave_records_out() -> None:
    writers = evolved(1)
    judge = sales.Judge(writers, keeps=True)

    def sale(**changed: Any) -> str | None:
        return judge.seen(record(encoded(writers.versions[0], ROW | changed))).place

    assert sale() == "by_shop=Köln%2F7%20a"
    assert [sale(price=Decimal("60000.00")), sale(shop="shop-4")] == [None, None]
    assert judge.seen(record(None)).place is not None, "conditions on fields hold for tombstones, if absent"
    assert judge.seen(record(b"bad", [("env", b"prod"), ("env", b"test")])).place is None, "headers come first"
    assert judge.seen(record(b"bad", [("env", b"test"), ("env", b"prod")])).place == QUARANTINE


def test_late_types_are_below_their_own_folder() -> None:
    headers = [("event-type", b"wrong"), ("event-type", b"click")]
    seen = events.seen(record(b'{"id": 1, "user": "u", "shop": ""}', headers))
    minute = f"type=clicks/{minute_folder(NOW)}"
    late = seen._replace(is_apart=True)
    assert [ByTypeAndMinute(mode).path(late) for mode in LATE] == [minute, f"_late/{minute}", QUARANTINE]
    row = ByTypeAndMinute("quarantine").row(late)
    assert row is not None
    assert row.value == refused_digest("late", b'{"id": 1, "user": "u", "shop": ""}')
    clicks, refunds = (OfType(ByTypeAndMinute(), folder) for folder in ("type=clicks", "type=refund"))
    assert (clicks.path(seen), refunds.path(seen)) == (minute_folder(NOW), None)
