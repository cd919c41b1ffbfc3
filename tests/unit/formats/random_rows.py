"""Random columns for the tests of our Parquet writer: any type that it takes, nested, with nulls wherever they may be.

Arrays are as others than pyarrow make them, too: below a null stand values, a null list has items, and what is nowhere
null may have a bitmap or none.
"""

import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

import pyarrow as pa

import logpersister_native as native
from logpersister.values.reading.columns import UTC, map_of

OPTIONS: Final[dict[str, Any]] = {
    "compression": "zstd",
    "zstd_level": 1,
    "row_group_bytes": 32 << 20,
    "page_bytes": 1 << 20,
    "page_index": False,
    "without_dictionary": [],
    "bloom_filters": {},
    "sorted_by": [],
}

FIELD_ID: Final = b"PARQUET:field_id"
_DAYS: Final = range(-719_162, 2_932_896)
"""From year 1 to 9999, since 1970."""
_UNITS: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NANOSECONDS: Final = range(-(2**63) + 1, 2**63)


def _integers(bits: int) -> Callable[[random.Random], Any]:
    return lambda chosen: chosen.choice((chosen.getrandbits(bits) - (1 << bits - 1), chosen.randint(-5, 5)))


def _floats(largest: float) -> Callable[[random.Random], Any]:
    odd = (0.0, -0.0, float("nan"), float("inf"), float("-inf"), largest, -largest, 1.5)
    return lambda chosen: chosen.choice((chosen.choice(odd), chosen.randint(-(2**20), 2**20) / 8))


def _decimals(precision: int, scale: int) -> Callable[[random.Random], Any]:
    most = 10**precision - 1

    def value(chosen: random.Random) -> Decimal:
        digits = chosen.choice((most, chosen.randint(0, most), chosen.randint(0, 9)))
        return Decimal((chosen.randrange(2) if digits else 0, tuple(map(int, str(digits))), -scale))

    return value


def _instants(unit: str) -> Callable[[random.Random], Any]:
    least, most = _DAYS.start * 86_400 * _UNITS[unit], _DAYS.stop * 86_400 * _UNITS[unit] - 1
    least, most = max(least, _NANOSECONDS.start), min(most, _NANOSECONDS.stop - 1)
    return lambda chosen: chosen.choice((chosen.randint(least, most), chosen.randint(-3, 3)))


def _text(chosen: random.Random) -> str:
    match chosen.randrange(12):
        case 0:
            return chosen.choice(("", "\0", "a\0b", "\U0010ffff", "ä" * 2_048, "\0" * 40))
        case 1 if chosen.random() < 0.05:
            return chosen.choice("ab") * chosen.randint(4_095, 12_000)
        case _:
            return "".join(chosen.choices("abcé", k=chosen.randint(0, 12)))


_PRIMITIVES: "Final[list[tuple[pa.DataType, Callable[[random.Random], Any]]]]" = [
    (pa.bool_(), lambda chosen: chosen.random() < 0.3),
    (pa.int8(), _integers(8)),
    (pa.int16(), _integers(16)),
    (pa.int32(), _integers(32)),
    (pa.int64(), _integers(64)),
    (pa.float32(), _floats(3.4028234663852886e38)),
    (pa.float64(), _floats(1.7976931348623157e308)),
    (pa.string(), _text),
    (pa.binary(), lambda chosen: _text(chosen).encode() + chosen.choice((b"", b"\xff\xfe"))),
    (pa.date32(), lambda chosen: chosen.randrange(_DAYS.start, _DAYS.stop)),
    (pa.time32("ms"), lambda chosen: chosen.randrange(86_400 * 10**3)),
    (pa.time64("us"), lambda chosen: chosen.randrange(86_400 * 10**6)),
    *((pa.timestamp(unit, UTC), _instants(unit)) for unit in _UNITS),
    *(
        (pa.decimal128(precision, scale), _decimals(precision, scale))
        for precision, scale in ((1, 0), (2, 2), (5, 2), (9, 9), (10, 3), (18, 4), (19, 0), (38, 10))
    ),
]
_VALUE_OF: Final = dict(_PRIMITIVES)
TYPES: Final = list(_VALUE_OF)


def columns(chosen: random.Random, most: int = 5, depth: int = 3) -> pa.Schema:
    """Return columns of random types; some have field ids, as those of tables."""
    fields = [_field(chosen, f"c{place}", depth) for place in range(chosen.randint(1, most))]
    return pa.schema(fields)


def rows(chosen: random.Random, schema: pa.Schema, count: int) -> pa.RecordBatch:
    """Return rows of a schema."""
    return pa.RecordBatch.from_arrays([_array(chosen, field, count) for field in schema], schema=schema)


def flat(chosen: random.Random, count: int, types: Sequence[pa.DataType] = TYPES) -> pa.RecordBatch:
    """Return rows with a number each, `row`, columns `c0` and so on of types, and a struct `s` of one and a text."""
    fields = [pa.field(f"c{place}", type_) for place, type_ in enumerate(types)]
    inner = [pa.field("f", chosen.choice(types)), pa.field("g", pa.string(), nullable=False)]
    found = rows(chosen, pa.schema([*fields, pa.field("s", pa.struct(inner))]), count)
    return found.add_column(0, pa.field("row", pa.int64(), nullable=False), pa.array(range(count)))


def written(batches: list[pa.RecordBatch], sizes: list[int], schema: pa.Schema, **options: Any) -> bytes:
    """Return the file of some rows, each of which counts as so many bytes of a row group."""
    writer, begin, pieces = native.ParquetWriter(schema, **OPTIONS | options), 0, []
    for batch in batches:
        pieces.append(writer.write(batch, pa.array(sizes[begin : begin + batch.num_rows], pa.int64())))
        begin += batch.num_rows
    return b"".join([*pieces, writer.finish()])


def _field(chosen: random.Random, name: str, depth: int) -> "pa.Field[Any]":
    nullable = chosen.random() < 0.7
    metadata = {FIELD_ID: str(chosen.randint(1, 2**31 - 1)).encode()} if chosen.random() < 0.5 else None
    return pa.field(name, _type(chosen, depth), nullable=nullable, metadata=metadata)


def _type(chosen: random.Random, depth: int) -> pa.DataType:
    match chosen.randrange(6 if depth else 3):
        case 3:
            return pa.struct([_field(chosen, f"f{place}", depth - 1) for place in range(chosen.randint(1, 3))])
        case 4:
            return pa.list_(_field(chosen, "element", depth - 1))
        case 5:
            return map_of(pa.field("key", pa.string(), nullable=False), _field(chosen, "value", depth - 1))
        case _:
            return chosen.choice(TYPES)


def _array(chosen: random.Random, field: "pa.Field[Any]", count: int) -> Any:
    type_: Any = field.type
    share = chosen.choice((0.0, 0.02, 0.5, 1.0)) if field.nullable else 0.0
    mask = pa.array([chosen.random() < share for _ in range(count)], pa.bool_())
    if pa.types.is_struct(type_):
        children = [_array(chosen, one, count) for one in type_]
        return pa.StructArray.from_arrays(children, fields=list(type_), mask=mask)
    if pa.types.is_list(type_) or pa.types.is_map(type_):
        usual = chosen.choice((0, 1, 3))
        sizes = [chosen.choice((0, usual, chosen.randint(0, 2 * usual))) for _ in range(count)]
        ends: Any = pa.array(accumulate(sizes, initial=0), pa.int32())
        items = _array(chosen, type_.item_field if pa.types.is_map(type_) else type_.value_field, sum(sizes))
        if pa.types.is_list(type_):
            return pa.ListArray.from_arrays(ends, items, type=type_, mask=mask)
        keys = pa.array([f"k{place}" for size in sizes for place in range(size)], pa.string())
        make: Any = pa.MapArray.from_arrays  # whose stub knows no offsets of 32 bits
        return make(ends, keys, items, type=type_, mask=mask)
    return _primitive(chosen, type_, mask)


def _primitive(chosen: random.Random, type_: Any, mask: Any) -> Any:
    """Values that are all different, or come again, or come in order."""
    value, count = _VALUE_OF[type_], len(mask)
    match chosen.randrange(3):
        case 0:
            values = [value(chosen) for _ in range(count)]
        case 1:
            few = [value(chosen) for _ in range(chosen.choice((1, 2, 40)))]
            values = chosen.choices(few, k=count)
        case _:
            values = sorted((value(chosen) for _ in range(count)), reverse=chosen.random() < 0.5)
    is_null = mask.to_pylist()
    if not any(is_null) and chosen.random() < 0.5:
        return pa.array(values, type_)
    return pa.array([None if null else one for one, null in zip(values, is_null, strict=True)], type_)
