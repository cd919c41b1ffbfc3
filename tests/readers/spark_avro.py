"""Random Avro values as Spark reads them by ``from_avro``, and where rows differ from that.

Spark reads by Avro's library for Java. The schema of the writer and that of the reader, whose fields are the columns
here, differ as those that fastavro judges do (tests/unit/records/test_avro_rows.py).
"""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal

import numpy as np
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession
from pyspark.sql.avro.functions import from_avro

from logpersister.manifest.row_schema import SchemaSpec
from logpersister.manifest.types import Struct
from logpersister.records.avro_rows import AvroRows
from tests.readers.others import plain
from tests.readers.spark_values import columns_by_spark, drawn, judged
from tests.unit.records.avro_meanings import fullest, meant
from tests.unit.records.avro_samples import KnownWriters, encoded, evolving_topics
from tests.unit.records.row_samples import batch_of_values
from tests.unit.records.test_avro_resolution import AS_OURS, CASES, ERROR, RECORDS, Case, Refused, field, record
from tests.unit.records.test_avro_rows import read_by_fastavro
from tests.unit.records.third_party import Reading, members_of

Json = Any
Damage = Literal["none", "cut", "longer", "changed"]

AT_ONCE: Final = 70
"""Pairs of schemas in a job of Spark."""
HEADER: Final = b"\0\0\0\0\1"


@dataclass(frozen=True)
class Topic:
    """Two schemas, and values by the one of the writer."""

    written: Json
    declared: Json
    data: Sequence[tuple[Damage, bytes]]

    @property
    def values(self) -> list[bytes]:
        return [datum for _, datum in self.data]


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

BY_MEANING: Final[Mapping[tuple[str, str], Callable[[Any], Any]]] = {
    ("int", "time-millis"): lambda nanoseconds: nanoseconds // 10**6,
    ("fixed", "uuid"): lambda text: uuid.UUID(text).bytes,
}
"""Logical types that Spark does not know, and how it has a value of our column; of nanoseconds it has the number."""


def assert_avro_like_spark(spark: SparkSession, samples: int) -> None:
    """Compare values of random schemas, those of the specification's bullets, and those of the tables."""
    topics = drawn(_topics(), samples)
    cases = [_with_one_value(one.written, one.declared, _datum_of(one)) for one in CASES]
    tables = [_with_one_value(one.written, one.declared, one.datum) for one in OTHERWISE]
    found = _rows_by_spark(spark, [*cases, *tables, *topics])
    of_cases, of_tables = found[: len(cases)], found[len(cases) : len(cases) + len(tables)]
    _assert_bullets([rows[0] for rows in of_cases])
    for one, topic, (theirs,) in zip(OTHERWISE, tables, of_tables, strict=True):
        rows, refused = _judged(topic)
        ours = Refused(refused[0], one.row.field if isinstance(one.row, Refused) else None) if refused else rows[0]["f"]
        assert (ours, theirs and theirs["f"]) == (one.row, one.in_spark), (one, ours, theirs)
    compared = sum(map(_compared, topics, found[len(cases) + len(tables) :]))
    assert compared > len(topics), "so few rows would say little"


def _with_one_value(written: Json, declared: Json, datum: bytes) -> Topic:
    return Topic(record("r", field("f", written)), record("r", field("f", declared)), [("none", datum)])


def _datum_of(case: Case) -> bytes:
    return _datum(record("r", field("f", case.written)), {"f": case.value})


def _datum(written: Json, value: Any) -> bytes:
    return encoded(written, value)[len(HEADER) :]


@st.composite
def _topics(draw: st.DrawFn) -> Topic:
    """Return a topic whose first value has all that its schema has; damaged values stand among whole ones."""
    written, declared, values = draw(evolving_topics())
    data: list[tuple[Damage, bytes]] = [("none", _datum(written, fullest(written)))]
    for value in draw(st.lists(values, min_size=2, max_size=5)):
        datum = _datum(written, value)
        data.append(("none", datum))
        place = draw(st.integers(0, len(datum) - 1))
        match draw(st.integers(0, 6)):
            case 0:
                data.append(("cut", datum[:place]))
            case 1:
                data.append(("longer", datum + draw(st.binary(min_size=1, max_size=3))))
            case 2:
                other = bytes([draw(st.integers(0, 255))])
                data.append(("changed", datum[:place] + other + datum[place + 1 :]))
    return Topic(written, declared, data)


def _rows_by_spark(spark: SparkSession, topics: Sequence[Topic]) -> list[list[Any]]:
    """Return rows by topic; None: Spark refuses the value."""
    found = []
    for begin in range(0, len(topics), AT_ONCE):
        some = topics[begin : begin + AT_ONCE]
        read = [partial(_from_avro, one.written, one.declared) for one in some]
        found += columns_by_spark(spark, [one.values for one in some], read)
    return [[value["row"] for value in values] for values in found]


def _from_avro(written: Json, declared: Json, column: Column) -> Column:
    options = {"mode": "PERMISSIVE", "avroSchema": _around(declared)}
    return from_avro(column, _around(written), options)


def _around(schema: Json) -> str:
    """Return the schema of a record with nothing but this one: so a row of nulls differs from no row."""
    return json.dumps(record("around", field("row", schema)))


def _judged(topic: Topic) -> tuple[dict[int, Any], dict[int, str]]:
    parser = AvroRows(SchemaSpec(avro=json.dumps(topic.declared)), "confluent", KnownWriters({1: topic.written}))
    return judged(parser.parse(batch_of_values([HEADER + datum for datum in topic.values])))


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


def _compared(topic: Topic, theirs: Sequence[Any]) -> int:
    """Compare both rows of each value, and return how many are rows in both."""
    rows, refused = _judged(topic)
    is_misfit = "other_schema" in refused.values()
    assert is_misfit == (theirs[0] is None), topic
    for place, row in enumerate(theirs):
        damage, datum = topic.data[place]
        told = (topic.written, topic.declared, damage, datum, rows.get(place), refused.get(place), row)
        if place not in refused:
            ours = _in_spark(topic.declared, rows[place])
            assert row == ours or (row is None and _has_zero(ours)), told
        elif damage == "cut" or row is None:
            assert row is None, told
        elif not is_misfit:
            assert refused[place] in _faults(topic, damage, datum), told
    return len(rows)


def _in_spark(node: Json, value: Any) -> Any:  # noqa: PLR0911 - one for each type
    """Return a value of our column as Spark has it."""
    if value is None:
        return None
    if isinstance(node, list):
        return _in_spark(next(one for one in node if one != "null"), value)
    match node:
        case {"type": "record", "fields": fields}:
            return {one["name"]: _in_spark(one["type"], value[one["name"]]) for one in fields}
        case {"type": "array", "items": items}:
            return [_in_spark(items, one) for one in value]
        case {"type": "map", "values": values}:
            return {key: _in_spark(values, one) for key, one in value.items()}
        case {"type": base, "logicalType": logical} if (base, logical) in BY_MEANING:
            return BY_MEANING[base, logical](value)
        case _:
            return value


def _has_zero(value: Any) -> bool:
    """Whether a decimal is 0, which may have been no bytes."""
    if isinstance(value, dict | list):
        return any(map(_has_zero, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Decimal) and value == 0


def _has_inexact(value: Any) -> bool:
    """Whether an integer is none of a float, of which fastavro and Spark take the next one."""
    if isinstance(value, dict | list):
        return any(map(_has_inexact, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and int(np.float32(value)) != value


def _faults(topic: Topic, damage: Damage, datum: bytes) -> set[str]:
    """Return why a value may be refused that Spark reads: for its damage, or for what is wrong as fastavro reads it."""
    found = set() if damage == "none" else {"not_avro"} if damage == "longer" else {"not_avro", "duplicate"}
    columns = SchemaSpec(avro=json.dumps(topic.declared))
    reading = Reading()
    try:
        if _has_inexact(read_by_fastavro(HEADER + datum, topic.written, topic.written)):
            found.add("overflow")
        value = read_by_fastavro(HEADER + datum, topic.written, topic.declared)
        reading.row(columns, meant(value, topic.declared, Struct(members_of(columns))))
    except UnicodeDecodeError:
        found.add("not_utf8")
    except (EOFError, LookupError, ValueError):
        assert damage != "none"
    return found | {reason for reason, _ in reading.faults}
