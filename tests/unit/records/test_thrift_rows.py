"""Rows of Thrift values: the native parser against thriftpy2."""

import io
import itertools
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
import thriftpy2
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol import TBinaryProtocol, TCompactProtocol
from thriftpy2.transport import TMemoryBuffer

from logpersister.schemas.types import ListOf, MapOf, Plain, Struct, Type
from logpersister.values.field import FieldSpec
from logpersister.values.row_schema import RowSchema
from logpersister.values.thrift.schema import Kind, Schema, read_schema
from logpersister.values.thrift.source import ThriftSource, thrift_of
from tests.examples import examples
from tests.unit.records.judging import Judged, judged_by
from tests.unit.records.kinds import of_thrift
from tests.unit.records.third_party import Pairs, assert_rows, members_of
from tests.unit.records.thrift_samples import schemas, sound_values, written

PROTOCOLS: Any = ["binary", "compact"]
LIBRARY: Any = {"binary": TBinaryProtocol, "compact": TCompactProtocol}
BUFFER: Any = TMemoryBuffer


def judged(schema: RowSchema, protocol: Any, found: list[bytes | None]) -> Judged:
    return judged_by(of_thrift(schema, protocol), found)


_modules = itertools.count()


def module_of(schema: RowSchema) -> Any:
    """Return what thriftpy2 makes of a schema; it does not know the type uuid."""
    idl = thrift_of(schema).idl.replace("uuid", "i64").replace("extends Other", "")
    return thriftpy2.load_fp(io.StringIO(idl), f"sample{next(_modules)}_thrift")


@pytest.mark.slow
@examples(120)
@given(st.data(), st.sampled_from(PROTOCOLS))
def test_values_are_what_thriftpy2_reads(data: st.DataObject, protocol: Any) -> None:
    schema = data.draw(schemas())
    found = data.draw(st.lists(sound_values(schema, protocol), min_size=1, max_size=5))
    module, resolved = module_of(schema), read_schema(thrift_of(schema).idl)
    name = resolved.struct(thrift_of(schema).struct)
    library = _Library(resolved, module)
    read = []
    for value in found:
        made = getattr(module, name)()
        LIBRARY[protocol](BUFFER(value)).read_struct(made)
        read.append(library.value(made, Kind("struct", name), Struct(members_of(schema))))
    assert_rows(judged(schema, protocol, [*found]), schema, read)


@dataclass(frozen=True)
class _Library:
    """What thriftpy2 has read, as values that stand for themselves."""

    schema: Schema
    module: Any

    def value(self, read: Any, kind: Kind, type_: Type) -> Any:
        """Return a value, of which enums are names or numbers, as the column wants it."""
        if read is None:
            return None
        match type_:
            case Struct(members):
                kinds = {one.name: one.kind for one in self.schema.structs[kind.of]}
                return Pairs(
                    (one.name, self.value(getattr(read, one.name), kinds[one.name], one.type)) for one in members
                )
            case ListOf(item):
                return [self.value(one, kind.inner[0], item) for one in read]
            case MapOf(of):
                return Pairs(
                    (self._text(key, kind.inner[0]), self.value(one, kind.inner[1], of)) for key, one in read.items()
                )
            case Plain("string"):
                return self._text(read, kind)
            case _:
                return read

    def _text(self, read: Any, kind: Kind) -> Any:
        if kind.word == "enum":
            return str(getattr(self.module, kind.of)._VALUES_TO_NAMES.get(read, read))
        if isinstance(read, bool):
            return str(read).lower()
        return read if isinstance(read, bytes) else str(read)


IDL = """
// what a shop sells
namespace java com.example.shop
namespace * shop
typedef i64 (unit = "ms") Instant
enum State { OPEN = 1, PAID = 5 (old = "yes"), CLOSED }
struct Item {  # a line of it
  1: required string sku (go.tag = "a"),
  2: optional string price
}
union Payment { 1: string card; 2: bool cash }
exception Failure { 1: string why }
const i32 LOTS = 12
struct Order {
  1: required i64 id;
  2: Instant at,
  3: list<Item> items
  4: map<i16, double> shares;
  5: State state = State.OPEN;
  6: optional set<bool> flags;
  7: Payment payment,
  8: i32 count = LOTS,
  9: binary raw,
  10: string note = "none",
  11: map<State, list<string>> by_state = {}
}
service Shop extends Other { Order get(1: i64 id) throws (1: Failure failure) }
"""
ORDER = RowSchema(source=ThriftSource(idl=IDL, struct="Order"))
HAND = RowSchema(
    source=ThriftSource(idl=IDL, struct="Order"),
    fields=(
        FieldSpec(name="at", type="timestamp[ms]", format="epoch[ms]"),
        FieldSpec(name="id", type="int8", required=True),
        FieldSpec(name="items", type="list<struct<price: decimal(5,2), sku: string not null>>"),
        FieldSpec(name="state", type="int32"),
        FieldSpec(name="note", type="binary[base64]", required=True),
    ),
)
ROW = {
    "id": 7,
    "at": -1,
    "items": [{"sku": "ä", "price": None}, {"sku": "", "price": "1.50"}],
    "shares": [("-3", 0.5)],
    "state": "PAID",
    "flags": [True, False],
    "payment": {"card": None, "cash": False},
    "count": -1,
    "raw": b"\xff",
    "note": "",
    "by_state": [("CLOSED", ["a"]), ("9", [])],
}


def order(module: Any, **changes: Any) -> Any:
    """Return an order as the library has it."""
    fields = {
        "id": 7,
        "at": -1,
        "items": [module.Item(sku="ä"), module.Item(sku="", price="1.50")],
        "shares": {-3: 0.5},
        "state": 5,
        "flags": [True, False],
        "payment": module.Payment(cash=False),
        "count": -1,
        "raw": b"\xff",
        "note": "",
        "by_state": {6: ["a"], 9: []},
    }
    return module.Order(**fields | changes)


def by_library(value: Any, protocol: str) -> bytes:
    buffer = BUFFER()
    LIBRARY[protocol](buffer).write_struct(value)
    return bytes(buffer.getvalue())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_a_value_does_not_have_is_null_or_its_default(protocol: Any) -> None:
    value = written(Kind("struct"), [(1, Kind("i64"), 7)], protocol)
    defaults = {"id": 7, "state": "OPEN", "count": 12, "note": "none", "by_state": []}
    row = dict.fromkeys(ROW) | defaults
    assert judged(ORDER, protocol, [value]) == ([row], [])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_columns_that_are_named_by_hand(protocol: Any) -> None:
    value = by_library(order(module_of(HAND), at=1_795_521_600_000), protocol)
    items = [{"price": None, "sku": "ä"}, {"price": Decimal("1.50"), "sku": ""}]
    row = {"at": 1_795_521_600_000, "id": 7, "items": items, "state": 5, "note": b""}
    assert judged(HAND, protocol, [value]) == ([row], [])


I64, TEXT, BOOLS = Kind("i64"), Kind("string"), Kind("list", inner=(Kind("bool"),))
ITEM = Kind("struct", "Item")
ITEMS = Kind("list", inner=(ITEM,))
ID = (1, I64, 7)


def deep(levels: int) -> tuple[int, Kind, Any]:
    """Return a field that is not known, of so many lists in each other."""
    kind, value = Kind("i8"), 1
    for _ in range(levels):
        kind, value = Kind("list", inner=(kind,)), [value]  # type: ignore[assignment]
    return 99, kind, value


REFUSED: Any = [
    ([], "missing", "id"),
    ([(1, I64, 128)], "overflow", "id"),
    ([ID, ID], "duplicate", "id"),
    ([ID, (2, I64, 10**15)], "overflow", "at"),
    ([ID, (3, Kind("set", inner=(ITEM,)), [])], "wrong_type", "items"),
    ([ID, (3, ITEMS, [[(1, TEXT, b"\xff")]])], "not_utf8", "items[].sku"),
    ([ID, (3, ITEMS, [[(1, TEXT, b""), (2, TEXT, b"1.234")]])], "overflow", "items[].price"),
    ([ID, (3, ITEMS, [[(1, TEXT, b""), (2, TEXT, b"x")]])], "bad_text", "items[].price"),
    ([ID, deep(64)], "too_deep", None),
]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("members", "reason", "field"), REFUSED, ids=str)
def test_a_refused_value_by_hand(protocol: Any, members: Any, reason: str, field: str | None) -> None:
    good = written(Kind("struct"), [ID, (3, BOOLS, []), deep(63)], protocol)
    found: list[bytes | None] = [good, written(Kind("struct"), members, protocol), good]
    rows, refused = judged(HAND, protocol, found)
    assert (len(rows), refused) == (2, [(1, reason, field)])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_key_that_is_twice_or_no_text(protocol: Any) -> None:
    keys = Kind("map", inner=(Kind("i16"), Kind("double")))
    found = [written(Kind("struct"), [ID, (4, keys, [(1, 0.5), (1, 0.5)])], protocol)]
    assert judged(ORDER, protocol, found)[1] == [(0, "duplicate", "shares{}")]  # type: ignore[arg-type]


BROKEN = {
    "binary": [
        b"",
        b"\x0a\x00\x01" + bytes(8),
        b"\x01\x00\x01\0",
        b"\x0b\x00\x63\xff\xff\xff\xff\0",
        b"\x0f\x00\x63\x0c\x7f\xff\xff\xff\0",
        b"\x0d\x00\x63\x02\x02\x00\x00\x00\x02\x01\x01\x01\0",
        b'{"id": 7}',
    ],
    "compact": [
        b"",
        b"\x16",
        b"\x16\x0e",
        b"\x0e\x16\0",
        b"\xf1\x0a\x80\x80\x04\0",
        b"\x18\xff\xff\xff\xff\x0f\0",
        b"\x18\x80\x80\x80\x80\x80\x00\0",
        b"\x1b\x02\x11\x01\x01\x01\0",
        b"\x16\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\0",
        b'{"id": 7}',
    ],
}


@pytest.mark.parametrize(("protocol", "value"), [(one, value) for one in PROTOCOLS for value in BROKEN[one]], ids=str)
def test_what_is_no_struct(protocol: Any, value: bytes) -> None:
    good = written(Kind("struct"), [ID], protocol)
    rows, refused = judged(HAND, protocol, [good, value, good])
    assert (len(rows), refused) == (2, [(1, "not_thrift", None)])


WIDE = " ".join(f"{number}: i64 c{number};" for number in range(1, 100))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("fields", [WIDE, f"1: string s = '{'x' * 100}'", f"1: E e = {'A' * 100}"])
def test_short_items_cannot_take_all_memory(protocol: Any, fields: str) -> None:
    idl = f"enum E {{ {'A' * 100} }} struct I {{ {fields} }} struct S {{ 1: list<I> all }}"
    schema = RowSchema(source=ThriftSource(idl=idl, struct="S"))
    kind = Kind("list", inner=(Kind("struct"),))
    found = [written(Kind("struct"), [(1, kind, [[]] * count)], protocol) for count in (2, 200)]
    assert judged(schema, protocol, found)[1] == [(1, "overflow", "all[]")]  # type: ignore[arg-type]
