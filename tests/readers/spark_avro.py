"""Avro values as Spark reads them by ``from_avro``, and where rows differ from that.

Spark reads by Avro's library for Java; of random schemas and values fastavro judges
(tests/unit/records/test_avro_rows.py).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, SparkSession
from pyspark.sql.avro.functions import from_avro

from logpersister.values.avro.rows import AvroRows
from logpersister.values.avro.source import AvroSource
from logpersister.values.row_schema import RowSchema
from tests.readers.others import plain
from tests.readers.spark_values import columns_by_spark, judged
from tests.unit.records.avro_samples import KnownWriters, encoded
from tests.unit.records.row_samples import batch_of_values
from tests.unit.records.test_avro_resolution import AS_OURS, CASES, ERROR, RECORDS, Case, Refused, field, record

Json = Any
HEADER: Final = b"\0\0\0\0\1"


@dataclass(frozen=True)
class Otherwise:
    """Values of a field, and what they are here and in Spark."""

    why: str
    written: Json
    declared: Json
    datum: bytes
    row: Any
    """What our column has, or `Refused`."""
    in_spark: Any
    """What Spark's has; None: the whole row is null there."""


def _decimal(scale: int) -> Json:
    return {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": scale}


def _logical(base: str, name: str) -> Json:
    return {"type": base, "logicalType": name}


_INTS: Final = {"type": "array", "items": "int"}
_COUNTS: Final = {"type": "map", "values": "int"}
_DATE: Final = _logical("int", "date")
_MILLIS: Final = _logical("int", "time-millis")
_NO_AVRO: Final = Refused("not_avro")

OTHERWISE: Final[Sequence[Otherwise]] = [
    # Avro's specification has no such values.
    Otherwise("a boolean is 0 or 1", "boolean", "boolean", b"\2", _NO_AVRO, False),
    Otherwise("an int has 32 bits", "int", "int", b"\xff\xff\xff\xff\x1f", _NO_AVRO, -(2**31)),
    Otherwise("a long has 64 bits", "long", "long", b"\xff" * 9 + b"\x7f", _NO_AVRO, -(2**63)),
    Otherwise("a block has the size that it says", _INTS, _INTS, b"\3\0\2\4\0", _NO_AVRO, [1, 2]),
    Otherwise("text is UTF-8", "string", "string", b"\2\xff", Refused("not_utf8"), "\udcff"),
    Otherwise("text is UTF-8", "bytes", "string", b"\2\xff", Refused("not_utf8"), "\udcff"),
    Otherwise(
        "a decimal has so many digits", _decimal(2), _decimal(2), b"\x12\1" + bytes(7) + b"\5", Refused("overflow"),
        Decimal("0.05"),
    ),
    Otherwise("a time is one of a day", _MILLIS, _MILLIS, b"\1", Refused("overflow"), -1),
    # It does not say what they are.
    Otherwise("bytes behind a value", "int", "int", b"\2\0", _NO_AVRO, 1),
    Otherwise("a key twice", _COUNTS, _COUNTS, b"\4\2a\2\2a\4\0", Refused("duplicate"), {"a": 2}),
    Otherwise("a decimal of no bytes", _decimal(2), _decimal(2), b"\0", Decimal("0.00"), None),
    Otherwise("an error of schemas that no value meets", {"type": "array", "items": "string"}, _INTS, b"\0",
              Refused("other_schema", None), []),
    # It has them, and columns end with the year 9999.
    Otherwise("years", _DATE, _DATE, b"\xfe\xff\xff\xff\x0f", Refused("overflow"), 2**31 - 1),
    # Its schemas of decimals match by their scales, and of units it says nothing. Here what a writer means counts.
    Otherwise("scales", _decimal(2), _decimal(4), b"\2\5", Decimal("0.0500"), Decimal("0.0005")),
    Otherwise(
        "units of instants", _logical("long", "timestamp-millis"), _logical("long", "timestamp-micros"), b"\2",
        10**6, 10**3,
    ),
    Otherwise("units of times", _MILLIS, _logical("long", "time-micros"), b"\2", 10**6, 10**3),
]  # fmt: skip
"""Values that Spark reads in another way, by what the specification says of them."""

NO_ERRORS: Final = {"bytes is promotable to string": "\udcff", RECORDS: {"x": 1, "y": "a"}}
"""By bullet of the specification: what Spark has where that says that there is an error."""


def assert_avro_like_spark(spark: SparkSession) -> None:
    """Compare values of the specification's bullets, and those of the table."""
    cases = [(one.written, one.declared, _datum_of(one)) for one in CASES]
    tables = [(one.written, one.declared, one.datum) for one in OTHERWISE]
    rows: list[Any] = []
    for some in (cases, tables):
        read = [partial(_from_avro, _record(written), _record(declared)) for written, declared, _ in some]
        rows += [value["row"] for (value,) in columns_by_spark(spark, [[datum] for *_, datum in some], read)]
    _assert_bullets(rows[: len(cases)])
    for one, theirs in zip(OTHERWISE, rows[len(cases) :], strict=True):
        parser = AvroRows(
            RowSchema(source=AvroSource(json.dumps(_record(one.declared)))),
            "confluent",
            KnownWriters({1: _record(one.written)}),
        )
        ours_, refused = judged(parser.parse(batch_of_values([HEADER + one.datum])))
        field_ = one.row.field if isinstance(one.row, Refused) else None
        ours = Refused(refused[0], field_) if refused else ours_[0]["f"]
        assert (ours, theirs and theirs["f"]) == (one.row, one.in_spark), (one, ours, theirs)


def _record(type_: Json) -> Json:
    return record("r", field("f", type_))


def _datum_of(case: Case) -> bytes:
    return encoded(_record(case.written), {"f": case.value})[len(HEADER) :]


def _from_avro(written: Json, declared: Json, column: Column) -> Column:
    options = {"mode": "PERMISSIVE", "avroSchema": _around(declared)}
    return from_avro(column, _around(written), options)


def _around(schema: Json) -> str:
    """Return the schema of a record with nothing but this one: so a row of nulls differs from no row."""
    return json.dumps(record("around", field("row", schema)))


def _assert_bullets(rows: Sequence[Any]) -> None:
    """Compare what Spark has with what the specification says; it is what fastavro has, too."""
    no_errors = {}
    for case, row in zip(CASES, rows, strict=True):
        specified = case.row if case.specified is AS_OURS or isinstance(case.row, Decimal) else case.specified
        if specified is ERROR or isinstance(specified, Refused):
            if row is not None:
                no_errors[case.bullet] = row["f"]
            continue
        assert row is not None, case
        expected = dict(specified) if isinstance(row["f"], dict) else specified
        assert row["f"] == plain(expected), (case, row)
    assert no_errors == NO_ERRORS
