"""What the judges of contents say of records, and that both sides of a comparison come to the same."""

import random
from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.chaos import events, sales, table_readers
from tests.chaos.choices import LATE
from tests.chaos.contents import QUARANTINE, TOMBSTONE, minute_folder, refused_digest, row_digest
from tests.chaos.minutes import ByTypeAndMinute, OfType
from tests.chaos.sale_schemas import DEFAULTS, MENDED

NOW = 1_795_262_400_000
MOMENT = datetime.fromtimestamp(NOW / 1000, UTC)
ROW: dict[str, Any] = {"id": 1, "shop": "Köln/7 a", "at": MOMENT, "price": Decimal("-1.20"), "note": "x" * 100}
_FIELDS: list[Any] = [
    ("id", pa.int64()),
    ("shop", pa.string()),
    ("at", pa.timestamp("ms", "UTC")),
    ("price", pa.decimal128(9, 2)),
    ("note", pa.string()),
]
SCHEMA = pa.schema(_FIELDS)


def evolved(versions: int) -> sales.Writers:
    numbers = iter(range(1, 100))
    writers = sales.Writers(Mock(register=lambda *_: next(numbers)))
    for _ in range(1, versions):
        assert writers.evolve()
    return writers


def record(value: bytes | None, headers: Any = ()) -> Any:
    return SimpleNamespace(offset=7, timestamp=NOW, key=b"k", value=value, headers=list(headers))


def of_first(writers: sales.Writers, **changed: Any) -> Any:
    """Return a record by the first version of the schema."""
    version = writers.versions[0]
    return record(sales._encoded(version.schema, ROW | changed, version.id))


def rows_of(columns: dict[str, Any], schema: pa.Schema = SCHEMA) -> tuple[list[Any], int]:
    """Write a file of one row; return what is read of it, and the version."""
    kafka = {"kafka_offset": 7, "kafka_timestamp": MOMENT, "kafka_key": b"k"}
    types = (pa.int64(), pa.timestamp("ms", "UTC"), pa.binary())
    fields = pa.schema([*schema, *map(pa.field, kafka, types)])
    pq.write_table(pa.Table.from_pylist([columns | kafka], fields), sink := BytesIO())
    return sales.rows_of(sink.getvalue(), quarantined=False)


def test_values_of_every_kind_are_drawn_and_judged() -> None:
    writers = evolved(6)
    judge, values = sales.Judge(writers), sales.Values(random.Random(1), writers)
    judged = [judge.seen(record(values.value())) for _ in range(3000)]
    places = Counter(str(seen.place).partition("=")[0] for seen in judged)
    assert places.keys() == {"by_shop", QUARANTINE}
    assert 120 < places[QUARANTINE] < 300
    assert {seen.version for seen in judged} == set(range(7))
    assert judge.seen(record(values.value(large=True))).version > 0


def test_a_row_is_the_same_by_every_version_of_the_file_and_in_the_table() -> None:
    """A value of the first version, in files of the first and of the last; a changed value is another row."""
    writers = evolved(6)
    seen = sales.Judge(writers).seen(of_first(writers))
    assert seen.place == "by_shop=Köln%2F7%20a"
    added = {
        "coupon": pa.string(),
        "rating": pa.int64(),
        "tags": pa.list_(pa.string()),
        "geo": pa.struct([("country", pa.string()), ("lat", pa.float64())]),
    }
    first, last = rows_of(ROW), rows_of(ROW | {"rating": -1, "tags": []}, pa.schema([*SCHEMA, *added.items()]))
    assert (first[1], last[1]) == (1, 6)
    assert first[0] == last[0]
    assert (first[0][0].value, first[0][0].offset, first[0][0].timestamp) == (seen.content, 7, NOW)
    for changed in ({"id": 2}, {"price": Decimal("-1.21")}, {"note": "x" * 99}, {"shop": None}, {"at": None}):
        assert rows_of(ROW | changed)[0][0].value != seen.content

    kafka = {"kafka_partition": 0, "kafka_offset": 7, "kafka_timestamp": MOMENT, "kafka_key": b"k"}
    columns = ROW | kafka | dict.fromkeys(added)
    folders = {"dt": "2026-11-21", "hr": "12", "min": "00"}
    live = table_readers._row(columns | folders)
    assert live == (0, minute_folder(NOW), sales.ByMinute().row(seen))
    assert table_readers._row(columns | {"rating": 5} | folders).row != live.row
    assert table_readers._row(dict.fromkeys(ROW) | kafka | folders).row.value == TOMBSTONE
    geo: dict[str, Any] = {"country": "de", "lat": 52.5}
    different: list[dict[str, Any]] = [{"tags": ["ä", ""]}, {"tags": ["ä"]}, {"ok": None}, {"ok": False}]
    different += [{"geo": geo}, {"geo": geo | {"lat": 52.6}}]
    assert len({row_digest(row, {}) for row in different}) == len(different)


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
    newest, columns = writers.versions[-1], ROW | {"coupon": None, "rating": 5, "origin": "app"}
    if remedy != "pin":
        (writers.mend if remedy == "mend" else writers.delete_refused)()
        assert writers.evolve() == 4
    assert [one.number for one in writers.versions] == numbers
    seen = sales.Judge(writers).seen(record(sales._encoded(newest.schema, columns, newest.id)))
    assert (seen.version, seen.content) == (version, row_digest(ROW | {"rating": 5} | row, DEFAULTS))


def test_files_of_a_mended_version_of_none_and_of_tombstones() -> None:
    mended = pa.schema([*SCHEMA, ("coupon", pa.string()), ("origin", pa.string())])
    assert rows_of(ROW | {"origin": "web"}, mended)[1] == MENDED + 2
    assert rows_of(ROW | {"origin": "web"}, mended)[0][0].value == row_digest(ROW, DEFAULTS)
    for columns in (pa.schema(_FIELDS[:1]), pa.schema([*SCHEMA, ("rating", pa.int64())])):
        with pytest.raises(ValueError, match="no version of the schema has the columns"):
            rows_of(ROW, columns)
    seen = sales.Judge(evolved(1)).seen(record(None))
    assert seen.place == "by_shop=__HIVE_DEFAULT_PARTITION__"
    assert sales.ByMinute().row(seen) == rows_of({})[0][0]
    assert sales.ByMinute().path(seen) == minute_folder(NOW) == "dt=2026-11-21/hr=12/min=00"


def test_conditions_leave_records_out() -> None:
    writers = evolved(1)
    judge = sales.Judge(writers, keeps=True)

    def sale(**changed: Any) -> str | None:
        return judge.seen(of_first(writers, **changed)).place

    assert [sale(), sale(price=Decimal("60000.00")), sale(shop="shop-4")] == ["by_shop=Köln%2F7%20a", None, None]
    assert judge.seen(record(None)).place is not None, "conditions on fields hold for tombstones, if absent"
    assert judge.seen(record(b"bad", [("env", b"prod"), ("env", b"test")])).place is None, "headers come first"
    assert judge.seen(record(b"bad", [("env", b"test"), ("env", b"prod")])).place == QUARANTINE


def test_late_types_are_below_their_own_folder() -> None:
    value = b'{"id": 1, "user": "u", "shop": ""}'
    seen = events.seen(record(value, [("event-type", b"wrong"), ("event-type", b"click")]))
    minute, late = f"type=clicks/{minute_folder(NOW)}", seen._replace(is_apart=True)
    assert [ByTypeAndMinute(mode).path(late) for mode in LATE] == [minute, f"_late/{minute}", QUARANTINE]
    row = ByTypeAndMinute("quarantine").row(late)
    assert row is not None
    assert row.value == refused_digest("late", value)
    clicks, refunds = (OfType(ByTypeAndMinute(), folder) for folder in ("type=clicks", "type=refund"))
    assert (clicks.path(seen), refunds.path(seen)) == (minute_folder(NOW), None)
